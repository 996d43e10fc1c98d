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

/// Two towers of kernels that are too short for several cores each, in one segment of two cores.
std::shared_ptr<const package::Executable> towers(std::string_view executor) {
  std::string text = "subgraph @0 \"main\" {\n  input %x : f32[40000]\n";
  for (const char tower : {'l', 'r'}) {
    std::string before = "x";
    for (int i = 0; i < 16; ++i) {
      const std::string result = fmt::format("{}{}", tower, i);
      text += fmt::format("  [%{} : f32[40000]] = {}[%{}]\n", result,
                          i % 2 == 0 ? "Tanh.13" : "Neg.13", before);
      before = result;
    }
  }
  text += "  [%y : f32[40000]] = Add.14[%l15, %r15]\n  output [%y]\n}\n";
  package::Executable executable = exec::testing::executable_of(text, "cpu");
  executable.segments.push_back({"whole", 0, 2});
  executable.graph.metadata[exec::kExecutorFact] = std::string(executor);
  return std::make_shared<const package::Executable>(std::move(executable));
}

std::size_t num_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

struct Outcome {
  std::vector<float> y;
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
  return {testing::floats(reply.outputs.at(0)), num_threads() - before};
}

TEST(EngineExecutor, ThePackagesExecutorRunsAModelOfOneSegment) {
  if (testing::cpu_map(2).devices[0].num_cores < 2) {
    GTEST_SKIP() << "a parallel executor needs two processors; this process may use one";
  }
  const Outcome linear = run("linear");
  const Outcome parallel = run("parallel");
  EXPECT_EQ(parallel.y, linear.y);
  EXPECT_EQ(linear.num_new_threads, 0U);
  EXPECT_EQ(parallel.num_new_threads, 1U) << "a thread for the second lane";
}

}  // namespace
}  // namespace sluice::runtime
