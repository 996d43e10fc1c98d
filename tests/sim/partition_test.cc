// Green contexts round up; masked kernels lose their work where no block lands inside the mask.
#include <gmock/gmock.h>

#include <cmath>

#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// 8 cores; a kernel of 16 elements in 4 blocks takes 100 ns and 128 ns divided by its cores.
std::string masked(bool is_checked) {
  return std::string(R"({"devices": [{"cores": 8, "partition": {"scheme": "mask",
      "block_elements": 4, "check": )") +
         (is_checked ? "true" : "false") +
         R"(}, "compute": {"flops_per_s": 1e9, "bytes_per_s": 1e9, "launch_ns": 100}}]})";
}

struct Outcome {
  Floats y = {};
  std::int64_t duration_ns = 0;
};

Outcome run_on(Machine& machine, std::vector<std::int32_t> cores) {
  const auto group = machine.group(std::move(cores));
  Floats x = {};
  x.fill(1);
  Outcome outcome;
  const auto list = machine.list(group, {machine.relu()}, x.data(), outcome.y.data());
  auto stream = machine.stream(group);
  const std::int64_t begin_ns = machine.time().now_ns();
  submit(stream, list);
  outcome.duration_ns = finish_time(machine, stream) - begin_ns;
  return outcome;
}

TEST(SimPartition, PublishedMaskLosesAllWorkOfASmallGridOnSomeCores) {
  Machine machine(masked(false));
  for (std::int32_t core = 0; core < 8; ++core) {
    const Outcome outcome = run_on(machine, {core});
    EXPECT_EQ(outcome.y[0], core < 4 ? 1 : 0) << core;
  }
  EXPECT_THAT(machine.time().log(), HasSubstr("lost_work stream=5 node=relu blocks=4 launches=1"));
}

TEST(SimPartition, LostWorkIsDetectedAndRepeated) {
  Machine machine(masked(true));
  for (std::int32_t core = 0; core < 8; ++core) {
    const Outcome outcome = run_on(machine, {core});
    EXPECT_EQ(outcome.y[0], 1) << core;
    EXPECT_EQ(outcome.y[15], 1) << core;
    EXPECT_EQ(outcome.duration_ns, core < 4 ? 228 : 328) << "a second launch, on core " << core;
  }
  EXPECT_THAT(machine.time().log(), HasSubstr("launches=2"));
}

TEST(SimPartition, GridWithFewBlocksInsideTheMaskUsesTheseCoresAlone) {
  Machine machine(masked(true));
  EXPECT_EQ(run_on(machine, {3, 4, 5, 6}).duration_ns, 100 + 128) << "a block lands on core 3 only";
  EXPECT_EQ(run_on(machine, {0, 1, 2, 3}).duration_ns, 100 + 32);
  EXPECT_THAT(machine.time().log(), Not(HasSubstr("lost_work")));
}

TEST(SimPartition, GreenContextsRoundUpToTheMinimumAndTheAlignment) {
  struct Case {
    std::string keys;
    std::size_t requested;
    int granted;
  };
  for (const Case& one : {Case{"", 3, 8}, Case{"", 11, 16}, Case{"", 16, 16},
                          Case{R"(, "minimum": 4, "alignment": 2)", 1, 4},
                          Case{R"(, "minimum": 4, "alignment": 2)", 5, 6},
                          Case{R"(, "minimum": 1, "alignment": 1)", 3, 3}, Case{"", 19, 20}}) {
    Machine machine(R"({"devices": [{"cores": 20, "partition": {"scheme": "green")" + one.keys +
                    R"(}, "compute": {"flops_per_s": 1e9, "bytes_per_s": 1e9, "launch_ns": 0}}]})");
    std::vector<std::int32_t> cores;
    for (std::size_t i = 0; i < one.requested; ++i) cores.push_back(static_cast<std::int32_t>(i));
    EXPECT_EQ(run_on(machine, cores).duration_ns, std::llround(128.0 / one.granted))
        << one.requested << one.keys;
  }
}

}  // namespace
}  // namespace sluice::sim_tests
