// States on a simulated device that reaches no memory but its own: the caller's memory shows
// whether a value was copied. The simulation adds in place.
#include "exec/states/kept_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/log/work_counts.h"
#include "exec/testing/exec_testing.h"
#include "support/sim.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;

/// total' = total + x, what is twice as much, and sum' = sum + total' for a sum of all totals. `w`
/// gives plans of other shapes that have the same states.
constexpr std::string_view kTotals = R"(
subgraph @0 "main" {
  input %x : f32[2]
  input %total : f32[2]
  input %sum : f32[2]
  input %w : f32[N]
  const %c : f32[3] = [1.0, 1.0, 1.0]
  [%next : f32[2]] = Add.14[%total, %x] "next"
  [%twice : f32[2]] = Mul.14[%next, %next] "square"
  [%sum_next : f32[2]] = Add.14[%sum, %next] "sum"
  [%v : f32[N]] = Relu.14[%w] "v"
  [%d : f32[3]] = Relu.14[%c] "d"
  output [%twice, %next, %sum_next, %v, %d]
}
)";

/// As kTotals, with shapes that are known when the model is loaded.
std::string static_totals() {
  std::string text(kTotals);
  for (std::size_t at = text.find("[N]"); at != std::string::npos; at = text.find("[N]")) {
    text.replace(at, 3, "[1]");
  }
  return text;
}

constexpr std::string_view kOwnMemory = R"({"devices": [{"count": 2, "host_memory": false}]})";
constexpr std::int64_t kStateBytes = 8;
constexpr std::int64_t kStepBytes = 8 + 4 + 8 + 4 + 12;  ///< x and w; square, v and d

class KeptStatesTest : public ::testing::Test {
 protected:
  /// `host_step`: the step that `reference` runs; -1: `sim` runs all.
  void load(std::string_view graph = kTotals, int host_step = -1) {
    auto executable = testing::executable_of(graph);
    executable.backends = {"reference", "sim"};
    executable.backend_of.front() = {1, 1, 1, 1, 1};
    if (host_step >= 0) executable.backend_of.front()[static_cast<std::size_t>(host_step)] = 0;
    const auto model = LoadedModel::load(std::move(executable), sim_.registry, {});
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    context_.emplace(model->create_context().value());
    ASSERT_TRUE(set(1, total_).is_ok());
    ASSERT_TRUE(bind(1, total_).is_ok());
    ASSERT_TRUE(set(2, sum_).is_ok());
    ASSERT_TRUE(bind(2, sum_).is_ok());
  }
  Status set(std::size_t input, Aligned<float>& memory) {
    return context_->set_input(input, f32_view(memory, {2}));
  }
  Status bind(std::size_t output, Aligned<float>& memory) {
    return context_->bind_output(output, memory.data(), memory.size_bytes());
  }
  Status keep(std::size_t input, std::size_t output) {
    const StatePair pair = {input, output};
    return context_->keep_states({&pair, 1});
  }
  Status try_add(float value, std::int64_t others = 1) {
    Aligned<float> x({value, value});
    Aligned<float> w(std::vector<float>(static_cast<std::size_t>(others), 1.0F));
    SLUICE_TRY(set(0, x));
    SLUICE_TRY(context_->set_input(3, f32_view(w, {others})));
    return context_->run();
  }
  /// Adds to both numbers, and returns the square of the first.
  float add(float value, std::int64_t others = 1) {
    const Status status = try_add(value, others);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return floats(context_->output(0))[0];
  }
  /// Bytes that a run copies.
  std::int64_t bytes_of_run() {
    const std::int64_t before = context_->copied_bytes();
    add(0);
    return context_->copied_bytes() - before;
  }
  float total() { return total_.data()[0]; }
  float sum() { return sum_.data()[0]; }
  /// After the value is asked for.
  float brought_total() {
    const Status status = context_->bring_output(1);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return total();
  }
  /// Copies of `bytes` to a device so far.
  int copies_of(std::int64_t bytes) const {
    const std::string log = sim_.time->log();
    const std::string what = "bytes=" + std::to_string(bytes) + "\n";
    int count = 0;
    for (std::size_t at = log.find("to_device"); at != std::string::npos;
         at = log.find("to_device", at + 1)) {
      if (log.compare(log.find("bytes=", at), what.size(), what) == 0) ++count;
    }
    return count;
  }
  Status inject(const std::string& fault) const { return sim_.time->inject_fault(fault).status(); }

  const sluice::testing::Sim sim_ =
      std::move(sluice::testing::make_sim(std::string(kOwnMemory))).value();
  Aligned<float> total_{{1, 1}};
  Aligned<float> sum_{{0, 0}};
  std::optional<Context> context_;
};

TEST_F(KeptStatesTest, StateStaysOnTheDeviceUntilItIsAskedFor) {
  load();
  const StatePair pairs[] = {{1, 1}, {2, 2}};
  ASSERT_TRUE(context_->keep_states(pairs).is_ok());
  EXPECT_EQ(context_->kept_bytes(), 0);
  EXPECT_EQ(add(2), 9);
  EXPECT_EQ(context_->kept_bytes(), 2 * kStateBytes);
  EXPECT_EQ(total(), 1) << "the value is on the device";
  EXPECT_EQ(bytes_of_run(), kStepBytes);
  EXPECT_EQ(brought_total(), 3);
  EXPECT_EQ(bytes_of_run(), kStepBytes) << "it was copied, and is still there";
  EXPECT_EQ(sum(), 0);
  ASSERT_TRUE(context_->bring_output(2).is_ok());
  EXPECT_EQ(sum(), 9);
}

TEST_F(KeptStatesTest, StateOfKnownShapesStaysToo) {
  load(static_totals());
  const StatePair pairs[] = {{1, 1}, {2, 2}};
  const WorkCounts before = work_counts;
  ASSERT_TRUE(context_->keep_states(pairs).is_ok());
  EXPECT_EQ((work_counts - before).recorded_kernels, 5U) << "once for both";
  EXPECT_EQ(add(2), 9);
  EXPECT_EQ((work_counts - before).recorded_kernels, 5U) << "not in the run";
  EXPECT_EQ(bytes_of_run(), kStepBytes);
  EXPECT_EQ(brought_total(), 3);
}

TEST_F(KeptStatesTest, StateRunsInParts) {
  load(static_totals());
  ASSERT_TRUE(keep(1, 1).is_ok());
  Aligned<float> x({2, 2});
  Aligned<float> w({1});
  ASSERT_TRUE(set(0, x).is_ok());
  ASSERT_TRUE(context_->set_input(3, f32_view(w, {1})).is_ok());
  for (int i = 0; i < 2; ++i) {
    const std::int64_t before = context_->copied_bytes();
    ASSERT_TRUE(context_->begin().is_ok());
    ASSERT_TRUE(context_->submit_segment(0).is_ok());
    while (!context_->poll_segment(0).value()) sim_.time->run_until_idle();
    ASSERT_TRUE(context_->finish().is_ok());
    // The other state is copied there and back, and this one there once.
    EXPECT_EQ(context_->copied_bytes() - before, kStepBytes + (i == 0 ? 3 : 2) * kStateBytes);
  }
  EXPECT_EQ(brought_total(), 5);
}

TEST_F(KeptStatesTest, InputThatIsSetAgainIsTheNewValue) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  *total_.data() = 10;
  ASSERT_TRUE(set(1, total_).is_ok());
  EXPECT_EQ(brought_total(), 10) << "what is on the device counts no more";
  EXPECT_EQ(add(1), 121);
  EXPECT_EQ(brought_total(), 11);
}

TEST_F(KeptStatesTest, StateStaysWhereRunsOfOtherShapesFindIt) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_EQ(add(1, 1), 4);
  EXPECT_EQ(add(1, 5), 9);
  const int copies = copies_of(kStateBytes);
  EXPECT_EQ(add(1, 1), 16);
  EXPECT_EQ(add(1, 5), 25);
  EXPECT_EQ(copies_of(kStateBytes) - copies, 2 * 2) << "x and the sum";
  EXPECT_EQ(total(), 1);
  EXPECT_EQ(brought_total(), 5);
}

TEST_F(KeptStatesTest, RunThatFailsLeavesAStateThatRunsGoOnWith) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  ASSERT_TRUE(inject(R"({"kind": "failed_kernel", "node": "square"})").is_ok());
  const std::int64_t copied = context_->copied_bytes();
  EXPECT_FALSE(try_add(1).is_ok());
  EXPECT_EQ(context_->copied_bytes(), copied) << "counted when the lists have ended";
  EXPECT_EQ(brought_total(), 4) << "changed before the kernel that failed";
  EXPECT_EQ(add(1), 25);
}

TEST_F(KeptStatesTest, RunThatIsRefusedLeavesTheState) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  Aligned<float> x({0, 0});
  ASSERT_FALSE(context_->set_input(0, f32_view(x, {1, 2})).is_ok());
  EXPECT_EQ(brought_total(), 3);
}

TEST_F(KeptStatesTest, CopyThatFailsLeavesTheValueOnTheDevice) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  ASSERT_TRUE(inject(R"({"kind": "failed_copy"})").is_ok());
  EXPECT_FALSE(context_->bring_output(1).is_ok());
  EXPECT_EQ(brought_total(), 3);
}

TEST_F(KeptStatesTest, StateKeptLaterLeavesTheFirstOnTheDevice) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_EQ(add(2), 9);
  ASSERT_TRUE(keep(2, 2).is_ok());
  EXPECT_EQ(add(1), 16);
  EXPECT_EQ(total(), 1);
  EXPECT_EQ(sum(), 3);
  EXPECT_EQ(context_->kept_bytes(), 2 * kStateBytes);
  EXPECT_EQ(brought_total(), 4);
}

TEST_F(KeptStatesTest, ConstantsStayOnTheDeviceWhileListsAreRecordedAnew) {
  load(static_totals());
  EXPECT_EQ(copies_of(12), 1) << "the constant";
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(1);
  ASSERT_TRUE(keep(2, 2).is_ok());
  add(1);
  ASSERT_TRUE(bind(1, total_).is_ok());
  Aligned<float> other({0, 0});
  ASSERT_TRUE(bind(2, other).is_ok());
  add(1);
  EXPECT_EQ(copies_of(12), 1);
}

TEST_F(KeptStatesTest, OutputBoundElsewhereEndsTheState) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  Aligned<float> other({0, 0});
  ASSERT_TRUE(bind(1, other).is_ok());
  EXPECT_EQ(total(), 3) << "the lent memory has the value";
  EXPECT_EQ(context_->kept_bytes(), 0);
  EXPECT_EQ(add(1), 16);
  EXPECT_EQ(other.data()[0], 4);
  EXPECT_EQ(total(), 3);
  EXPECT_EQ(add(1), 16) << "from the input, which no run changes now";
}

TEST_F(KeptStatesTest, InputSetElsewhereEndsTheState) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  Aligned<float> other({7, 7});
  ASSERT_TRUE(set(1, other).is_ok());
  EXPECT_EQ(total(), 3) << "the lent memory has the value";
  EXPECT_EQ(add(1), 64);
  EXPECT_EQ(total(), 8);
  ASSERT_TRUE(set(1, total_).is_ok());
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_EQ(add(1), 81);
  EXPECT_EQ(brought_total(), 9);
}

TEST_F(KeptStatesTest, StateThatEndsOnALostDeviceSaysThatItsValueIsLost) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  ASSERT_TRUE(inject(R"({"kind": "lost_device", "device": 0})").is_ok());
  Aligned<float> other({0, 0});
  EXPECT_FALSE(bind(1, other).is_ok());
  EXPECT_TRUE(bind(1, other).is_ok()) << "there is no state any more";
}

TEST_F(KeptStatesTest, MemoryThatAnotherTensorSharesIsRefused) {
  load();
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  ASSERT_TRUE(set(2, total_).is_ok());
  EXPECT_THAT(try_add(1).message(),
              HasSubstr(R"(input "sum" shares memory with the state "total")"));
  ASSERT_TRUE(set(2, sum_).is_ok());
  ASSERT_TRUE(context_->bind_output(2, total_.data(), 8).is_ok());
  EXPECT_THAT(try_add(1).message(), HasSubstr(R"(output "sum_next" shares memory with the state)"));
  ASSERT_TRUE(bind(2, sum_).is_ok());
  EXPECT_EQ(add(1), 16) << "no run was made meanwhile";
}

TEST_F(KeptStatesTest, DeviceThatIsTooSmallFailsTheCallAndNotTheRun) {
  load(static_totals());
  ASSERT_TRUE(inject(R"({"kind": "memory_exhausted"})").is_ok());
  const Status status = keep(1, 1);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.to_string();
  EXPECT_EQ(add(2), 9);
  EXPECT_EQ(total(), 3) << "no state";
}

TEST_F(KeptStatesTest, MemoryOfAStateGoesWithIt) {
  load();
  add(0);
  const std::int64_t before = sim_.time->memory_used_bytes(0);
  ASSERT_TRUE(keep(1, 1).is_ok());
  add(2);
  Aligned<float> other({0, 0});
  ASSERT_TRUE(bind(1, other).is_ok());
  ASSERT_TRUE(set(1, other).is_ok());
  add(2);
  EXPECT_EQ(sim_.time->memory_used_bytes(0), before);
}

TEST_F(KeptStatesTest, StateThatTheHostReadsIsAsWithoutTheCall) {
  load(kTotals, 1);
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_EQ(add(2), 9);
  EXPECT_EQ(total(), 3);
  EXPECT_EQ(context_->kept_bytes(), 0);
}

TEST_F(KeptStatesTest, StateThatNoKernelChangesInPlaceIsAsWithoutTheCall) {
  std::string text(kTotals);
  text.replace(text.find("Add.14[%total, %x]"), 18, "Sub.14[%total, %x]");
  load(text);
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_EQ(add(2), 1);
  EXPECT_EQ(total(), -1);
  ASSERT_TRUE(context_->bring_output(1).is_ok());
  EXPECT_EQ(total(), -1);
}

TEST_F(KeptStatesTest, PairsThatAreNoStateAreRefused) {
  load();
  EXPECT_THAT(keep(4, 1).message(), HasSubstr("input 4 does not exist"));
  EXPECT_THAT(keep(1, 5).message(), HasSubstr("output 5 does not exist"));
  EXPECT_THAT(keep(0, 1).message(), HasSubstr("bind both to one memory"));
  const StatePair pairs[] = {{1, 1}, {0, 1}};
  EXPECT_FALSE(context_->keep_states(pairs).is_ok());
  ASSERT_TRUE(set(1, sum_).is_ok()) << "the first was not kept either";
  ASSERT_TRUE(set(1, total_).is_ok());
  ASSERT_TRUE(keep(1, 1).is_ok());
  EXPECT_TRUE(keep(1, 1).is_ok()) << "again";
}

}  // namespace
}  // namespace sluice::exec
