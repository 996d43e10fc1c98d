// Which executor runs a request: that of the package, for a model of one segment on processors.
#include <gtest/gtest.h>
#include <unistd.h>

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
  Engine engine(testing::registry(), drivers, std::move(options));
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

TEST(EngineExecutor, ThePackagesExecutorRunsAModelOfOneSegment) {
  if (testing::cpu_map(2).devices[0].num_cores < 2) {
    GTEST_SKIP() << "a parallel executor needs two processors; this process may use one";
  }
  const Outcome linear = run("linear");
  const Outcome parallel = run("parallel");
  EXPECT_EQ(parallel.tower, linear.tower);
  EXPECT_EQ(linear.num_new_threads, 0U);
  EXPECT_EQ(parallel.num_new_threads, 1U) << "a thread for the second lane";
}

}  // namespace
}  // namespace sluice::runtime
