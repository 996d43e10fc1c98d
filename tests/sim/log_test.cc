// The same description and the same calls make the same log.
#include <algorithm>
#include <thread>

#include "sim/machine.h"

namespace sluice::sim_tests {
namespace {

/// A copy in and then a kernel on one stream, a copy out beside them on another; the log of it.
std::string log_of_two_streams(const std::string& description) {
  Machine machine(description);
  const auto group = machine.group({0, 1});
  {
    const auto memory = machine.memory(64);
    Floats x = {1};
    Floats y = {};
    auto* values = static_cast<float*>(memory.address());
    const auto in = machine.copy(group, x.data(), values, 64);
    const auto compute = machine.list(group, {machine.relu()}, values, values);
    const auto out = machine.copy(group, values, y.data(), 64);
    auto one = machine.stream(group);
    auto other = machine.stream(group);
    submit(one, in);
    submit(one, compute);
    submit(other, out);
    finish_time(machine, one);
    finish_time(machine, other);
  }
  return machine.time().log();
}

TEST(SimLog, ReadsAsTheDocumentSays) {
  EXPECT_EQ(log_of_two_streams(R"({"devices": [{"compute": {"kernel_ns": 700}, "copy": {
                "to_device": {"latency_ns": 36, "bytes_per_s": 1e9},
                "to_host": {"latency_ns": 436, "bytes_per_s": 1e9}}}]})"),
            R"(0 group_create group=1 device=0 cores=0,1
0 allocate device=0 bytes=64 used=64
0 submit stream=1 list=1 steps=1
0 copy_start stream=1 list=1 way=device0.to_device bytes=64
0 submit stream=1 list=2 steps=1
0 submit stream=2 list=3 steps=1
0 copy_start stream=2 list=3 way=device0.to_host bytes=64
100 copy_end stream=1 list=1 code=0
100 list_end stream=1 list=1 code=0
100 kernel_start stream=1 list=2 group=1 op=Relu node=relu
500 copy_end stream=2 list=3 code=0
500 list_end stream=2 list=3 code=0
800 kernel_end stream=1 list=2 code=0
800 list_end stream=1 list=2 code=0
800 free device=0 bytes=64 used=0
)");
}

TEST(SimLog, JitterIsTheSameForTheSameSeedAndAnotherForAnother) {
  for (const char* distribution : {"uniform", "normal", "exponential"}) {
    const auto description = [&](int seed) {
      return R"({"jitter": {"distribution": ")" + std::string(distribution) +
             R"(", "spread": 0.2}, "seed": )" + std::to_string(seed) + "}";
    };
    EXPECT_EQ(log_of_two_streams(description(7)), log_of_two_streams(description(7)));
    EXPECT_NE(log_of_two_streams(description(7)), log_of_two_streams(description(8)));
  }
}

TEST(SimLog, UniformJitterStaysWithinItsSpread) {
  Machine machine(R"({"jitter": {"distribution": "uniform", "spread": 0.5},
                      "devices": [{"compute": {"kernel_ns": 1000}}]})");
  const auto group = machine.group({0});
  Floats x = {};
  const auto list = machine.list(group, {machine.relu()}, x.data(), x.data());
  auto stream = machine.stream(group);
  std::int64_t shortest = 10000;
  std::int64_t longest = 0;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t before = machine.time().now_ns();
    submit(stream, list);
    const std::int64_t took = finish_time(machine, stream) - before;
    shortest = std::min(shortest, took);
    longest = std::max(longest, took);
  }
  EXPECT_GE(shortest, 500);
  EXPECT_LT(shortest, 600);
  EXPECT_GT(longest, 1400);
  EXPECT_LE(longest, 1500);
}

TEST(SimLog, EndsAtItsLimit) {
  Machine machine(R"({"max_log_bytes": 100})");
  for (int i = 0; i < 10; ++i) machine.group({0});
  const std::string log = machine.time().log();
  EXPECT_TRUE(log.ends_with("\n... max_log_bytes is reached\n")) << log;
  EXPECT_EQ(std::ranges::count(log, '\n'), 3) << log;
}

TEST(SimThreads, ShareOneMachine) {
  Machine machine(R"({"devices": [{"compute": {"kernel_ns": 1000}}]})");
  std::vector<Status> ended(4);
  std::vector<std::thread> threads;
  for (int core = 0; core < 4; ++core) {
    threads.emplace_back([&machine, &ended, core] {
      const auto group = machine.group({core});
      const auto kernel = machine.relu();
      Floats x = {1};
      const auto list = machine.list(group, {kernel}, x.data(), x.data());
      auto stream = machine.stream(group);
      for (int i = 0; i < 100; ++i) {
        submit(stream, list);
        const Status status = stream.wait();
        if (!status.is_ok()) ended[static_cast<std::size_t>(core)] = status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : ended) EXPECT_EQ(status.to_string(), "ok");
  EXPECT_GE(machine.time().now_ns(), 100'000);
  EXPECT_LE(machine.time().now_ns(), 400'000);
}

}  // namespace
}  // namespace sluice::sim_tests
