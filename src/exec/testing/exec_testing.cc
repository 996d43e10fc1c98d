#include "exec/testing/exec_testing.h"

#include <gtest/gtest.h>

#include <utility>

#include "ir/text/graph_text.h"
#include "ops/control/structure.h"
#include "ops/inference.h"

namespace sluice::exec::testing {

std::string towers_of_short_kernels() {
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
  return text + "  [%y : f32[40000]] = Sub.14[%l15, %r15]\n  output [%y, %l15]\n}\n";
}

const backend::BackendRegistry& registry() {
  static const auto kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

package::Executable executable_of(std::string_view graph_text, std::string_view backend) {
  auto graph = ir::parse_graph(graph_text);
  EXPECT_TRUE(graph.is_ok()) << graph.status().to_string();
  const Status inferred = ops::infer_types(*graph);
  EXPECT_TRUE(inferred.is_ok()) << inferred.to_string();
  package::Executable executable;
  executable.backends = {std::string(backend)};
  executable.backend_of.resize(graph->num_subgraphs());
  for (const ir::SubgraphId id : ops::runnable_subgraphs(*graph)) {
    const ir::Subgraph& subgraph = graph->subgraph(id);
    for (const ir::OperationId at : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(at);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      const bool needs_kernel = !schema->needs_no_kernel() && !schema->has(ops::kControlFlow);
      executable.backend_of[id.index()].push_back(needs_kernel ? 0 : -1);
    }
  }
  executable.graph = std::move(graph).value();
  return executable;
}

LoadedModel load(std::string_view graph_text, std::string_view backend, int num_threads) {
  LoadOptions options;
  options.num_threads = num_threads;
  auto model = LoadedModel::load(executable_of(graph_text, backend), registry(), options);
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  return std::move(model).value();
}

terms::TensorView f32_view(Aligned<float>& values, std::vector<std::int64_t> dims) {
  return {values.data(), values.size_bytes(), ir::ElementType::kF32, std::move(dims)};
}

terms::TensorView i64_view(Aligned<std::int64_t>& values, std::vector<std::int64_t> dims) {
  return {values.data(), values.size_bytes(), ir::ElementType::kI64, std::move(dims)};
}

std::vector<float> floats(const terms::TensorView& view) {
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + view.size_bytes / 4};
}

}  // namespace sluice::exec::testing
