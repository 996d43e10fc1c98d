// Which executor runs a request: that of the package, for a model of one segment on processors.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "exec/executors/executor_kind.h"
#include "exec/testing/exec_testing.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/process.h"

namespace sluice::runtime {
namespace {

constexpr std::size_t kElements = 40'000;

/// In one segment of two cores.
std::shared_ptr<const package::Executable> towers(std::string_view executor) {
  package::Executable executable =
      exec::testing::executable_of(exec::testing::towers_of_short_kernels(), "cpu");
  executable.segments.push_back({"whole", 0, 2});
  executable.graph.metadata[exec::kExecutorFact] = std::string(executor);
  return std::make_shared<const package::Executable>(std::move(executable));
}

std::set<pid_t> threads() { return sluice::testing::threads_of(getpid()); }

struct Outcome {
  std::vector<float> tower;
  std::size_t num_new_threads = 0;  ///< since the load
};

Outcome run(std::string_view executor) {
  ThreadDrivers drivers;
  EngineOptions options;
  options.devices = testing::cpu_map(2);
  testing::TestEngine engine(testing::registry(), drivers, std::move(options));
  const auto model = engine.load(testing::load_of(towers(executor)));
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  const std::set<pid_t> before = threads();
  auto memory = std::make_shared<std::vector<float>>(kElements, 0.75F);
  Request request;
  request.inputs = {
      {memory->data(), kElements * sizeof(float), ir::ElementType::kF32, {kElements}}};
  request.memory_owner = memory;
  const Reply reply = engine.infer(*model, request);
  EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  // A thread of an engine before this one may still be ending: it is among those before.
  std::size_t num_new = 0;
  for (const pid_t thread : threads()) num_new += before.contains(thread) ? 0 : 1;
  return {testing::floats(reply.outputs.at(1)), num_new};
}

TEST(EngineExecutor, ExecutorOfThePackageRunsAModelOfOneSegment) {
  if (testing::cpu_map(2).devices[0].num_cores < 2) {
    GTEST_SKIP() << "a parallel executor needs two processors; this process may use one";
  }
  const Outcome linear = run("linear");
  const Outcome parallel = run("parallel");
  EXPECT_EQ(parallel.tower, linear.tower);
  EXPECT_EQ(linear.num_new_threads, 0U);
  EXPECT_EQ(parallel.num_new_threads, 1U) << "a thread for the second lane";
}

/// Ends after as many iterations as its input says.
constexpr std::string_view kLongLoop = R"(
subgraph @0 "main" {
  input %count : i64[]
  const %true : bool[] = hex 01
  const %zero : f32[] = [0.0]
  [%y : f32[]] = Loop.25[%count, %true, %zero] {body = @1, captures = 0}
  output [%y]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %sum : f32[]
  [%on : bool[]] = Identity.25[%go]
  [%more : f32[]] = Cos.22[%sum]
  output [%on, %more]
}
)";

Request count_to(std::int64_t count) {
  auto memory = std::make_shared<std::int64_t>(count);
  Request request;
  request.inputs = {{memory.get(), sizeof(count), ir::ElementType::kI64, {}}};
  request.memory_owner = memory;
  return request;
}

// The waiting caller may be the thread that computes the long request, or not: several rounds.
TEST(EngineExecutor, DeadlineInLineIsKeptWhileAnotherRequestRuns) {
  ThreadDrivers drivers;
  EngineOptions options;
  options.devices = testing::cpu_map(1);
  testing::TestEngine engine(testing::registry(), drivers, std::move(options));
  const auto executable =
      std::make_shared<const package::Executable>(exec::testing::executable_of(kLongLoop, "cpu"));
  for (int round = 0; round < 20; ++round) {
    LoadRequest load = testing::load_of(executable);
    load.depth = 1;
    load.queue_limit = 1;
    const auto model = engine.load(load);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    const auto sink = engine.sink(*model).value();
    std::atomic<RuntimeCode> ended = RuntimeCode::kOk;
    Request first = count_to(90'000'000);
    first.priority = 1;  // else the one with a deadline may pass it
    first.on_done = [&](const Reply& reply) { ended = reply.code; };
    const auto id = sink->submit(first);
    ASSERT_TRUE(id.is_ok()) << id.status().to_string();
    Request late = count_to(1);
    late.deadline_ns = engine.clock().now_ns() + 1'000'000;
    EXPECT_EQ(infer(*sink, std::move(late)).code, RuntimeCode::kTimeout);
    EXPECT_TRUE(sink->cancel(*id)) << "it still runs";
    ASSERT_TRUE(engine.unload(*model).is_ok());
    EXPECT_EQ(ended, RuntimeCode::kCancelled);
  }
}

}  // namespace
}  // namespace sluice::runtime
