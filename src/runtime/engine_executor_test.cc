// Which executor runs a request: that of the package, for a model of one segment on processors.
#include <gtest/gtest.h>

#include <filesystem>

#include "exec/executors/executor_kind.h"
#include "exec/testing/exec_testing.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"

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

std::size_t num_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

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
  const std::size_t before = num_threads();
  auto memory = std::make_shared<std::vector<float>>(kElements, 0.75F);
  Request request;
  request.inputs = {
      {memory->data(), kElements * sizeof(float), ir::ElementType::kF32, {kElements}}};
  request.memory_owner = memory;
  const Reply reply = engine.infer(*model, request);
  EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
  return {testing::floats(reply.outputs.at(1)), num_threads() - before};
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
