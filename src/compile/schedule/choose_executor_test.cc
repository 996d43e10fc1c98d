#include "compile/schedule/choose_executor.h"

#include <gtest/gtest.h>

#include "ir/text/graph_text.h"
#include "support/sim.h"

namespace sluice::compile {
namespace {

/// Two branches, each on a device of `sim` if `numbers` say so.
package::Executable branches(std::vector<std::int16_t> numbers) {
  auto graph = ir::parse_graph(R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%l1 : f32[4]] = Relu.14[%x]
  [%l2 : f32[4]] = Tanh.13[%l1]
  [%r1 : f32[4]] = Tanh.13[%x]
  [%r2 : f32[4]] = Relu.14[%r1]
  output [%l2, %r2]
}
)");
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string();
  package::Executable executable;
  executable.graph = std::move(graph).value();
  executable.backends = {"sim", "sim:1"};
  executable.backend_of = {std::move(numbers)};
  return executable;
}

sluice::testing::Sim slow_devices() {
  auto sim = sluice::testing::make_sim(
      R"({"devices": [{"count": 2, "host_memory": false, "compute": {"kernel_ns": 1000000}}]})");
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  return std::move(sim).value();
}

TEST(ChooseExecutor, DevicesOverlapWhereBranchesDo) {
  const sluice::testing::Sim sim = slow_devices();
  const auto kind = choose_executor(branches({0, 0, 1, 1}), sim.registry);
  ASSERT_TRUE(kind.is_ok()) << kind.status().to_string();
  EXPECT_NE(*kind, exec::ExecutorKind::kLinear);
}

TEST(ChooseExecutor, LinearWhereNothingOverlaps) {
  const sluice::testing::Sim sim = slow_devices();
  const auto kind = choose_executor(branches({0, 0, 0, 0}), sim.registry);
  ASSERT_TRUE(kind.is_ok()) << kind.status().to_string();
  EXPECT_EQ(*kind, exec::ExecutorKind::kLinear);
}

}  // namespace
}  // namespace sluice::compile
