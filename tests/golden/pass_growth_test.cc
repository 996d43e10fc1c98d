// The cost of every pass grows with the graph, not with its square. The cases of this folder are
// the patterns: many copies of each, one behind the other. Visits of operations are counted, not
// time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/log/work_counts.h"
#include "golden/golden_case.h"
#include "ir/text/graph_text.h"
#include "ops/inference.h"
#include "passes/pass_manager.h"

namespace sluice::golden {
namespace {

constexpr std::size_t kFewOperations = 500;
constexpr std::size_t kManyOperations = 5000;
/// Sorting takes a little more than linear time.
constexpr std::uint64_t kMostGrowth = 13;

/// Patterns of passes without a file of their own.
const std::map<std::string, std::string, std::less<>> kMorePatterns = {
    {"fold_constants", R"(subgraph @0 "main" {
  input %x : f32[2]
  const %a : f32[2] = [1.0, 2.0]
  const %b : f32[2] = [3.0, 4.0]
  [%c : unknown] = Add.14[%a, %b]
  [%y : unknown] = Mul.14[%x, %c]
  output [%y]
})"},
    {"infer_types", R"(subgraph @0 "main" {
  input %x : f32[2,2]
  const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
  [%a : unknown] = MatMul.13[%x, %w]
  [%y : unknown] = Tanh.13[%a]
  output [%y]
})"},
    {"strassen_1", R"(subgraph @0 "main" {
  input %x : f32[2,2]
  const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
  [%y : unknown] = MatMul.13[%x, %w]
  output [%y]
})"},
};

/// Copies of a graph's main subgraph in one. A copy reads the results of the one before where an
/// input has the type of an output, and the inputs of the whole elsewhere.
class Chain {
 public:
  explicit Chain(const ir::Graph& unit) : unit_(unit), from_(unit.main()) {}

  ir::Graph make(std::size_t num_copies) {
    ir::Graph whole;
    for (const ir::OperandId id : from_.inputs) {
      inputs_.push_back(whole.main().add_operand({"", from_.operand(id).type, {}}));
    }
    whole.main().inputs = inputs_;
    for (std::size_t i = 0; i < num_copies; ++i) add_copy(whole);
    return whole;
  }

 private:
  void add_copy(ir::Graph& whole) {
    std::vector<ir::OperandId> moved(from_.num_operands());
    for (std::size_t i = 0; i < from_.inputs.size(); ++i) {
      moved[from_.inputs[i].index()] = inputs_[i];
    }
    for (std::size_t i = 0; i < from_.num_operands(); ++i) {
      if (moved[i].is_valid()) continue;
      ir::Operand operand = from_.operand(ir::OperandId(i));
      operand.name.clear();
      moved[i] = whole.main().add_operand(std::move(operand));
    }
    const auto move = [&](std::vector<ir::OperandId>& ids) {
      for (ir::OperandId& id : ids) {
        if (id.is_valid()) id = moved[id.index()];
      }
    };
    for (const ir::OperationId at : from_.order()) {
      ir::Operation operation = with_own_subgraphs(whole, from_.operation(at));
      move(operation.inputs);
      move(operation.outputs);
      if (operation.body) move(operation.body->inputs);
      whole.main().add_operation(std::move(operation));
    }
    std::vector<ir::OperandId> outputs = from_.outputs;
    move(outputs);
    whole.main().outputs.insert(whole.main().outputs.end(), outputs.begin(), outputs.end());
    connect(whole.main(), outputs);
  }

  /// The next copy reads these.
  void connect(const ir::Subgraph& main, const std::vector<ir::OperandId>& outputs) {
    for (const ir::OperandId output : outputs) {
      const auto input = std::ranges::find_if(inputs_, [&](ir::OperandId id) {
        return main.operand(id).type == main.operand(output).type;
      });
      if (input != inputs_.end()) *input = output;
    }
  }

  ir::Operation with_own_subgraphs(ir::Graph& whole, ir::Operation operation) {
    const auto copy = [&](ir::SubgraphId id) {
      const ir::SubgraphId made = whole.add_subgraph("");
      ir::Subgraph subgraph = unit_.subgraph(id);
      for (const ir::OperationId at : subgraph.order()) {
        subgraph.operation(at) = with_own_subgraphs(whole, subgraph.operation(at));
      }
      whole.subgraph(made) = std::move(subgraph);
      return made;
    };
    if (operation.body) operation.body->subgraph = copy(operation.body->subgraph);
    ir::Attributes attributes = operation.attributes;
    for (const auto& [name, value] : operation.attributes) {
      if (const auto* id = std::get_if<ir::SubgraphId>(&value)) attributes.set(name, copy(*id));
    }
    operation.attributes = std::move(attributes);
    return operation;
  }

  const ir::Graph& unit_;
  const ir::Subgraph& from_;
  std::vector<ir::OperandId> inputs_;  // of the next copy
};

/// Zeros of the type that is inferred.
Result<std::vector<ir::Constant>> evaluate_to_zeros(const ir::Subgraph& subgraph,
                                                    const ir::Operation& operation) {
  std::vector<ir::Constant> zeros;
  for (const ir::OperandId id : operation.outputs) {
    const ir::Type& type = id.is_valid() ? subgraph.operand(id).type : ir::Type();
    const auto bytes =
        type.is_tensor() && type.is_static() ? ir::storage_bytes(type) : std::nullopt;
    if (!bytes) return unimplemented("no zeros of {}", type.to_string());
    zeros.push_back({type, Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(*bytes)))});
  }
  return zeros;
}

struct Cost {
  std::uint64_t visits = 0;
  std::size_t num_rewrites = 0;
};

Result<Cost> cost_of(const GoldenCase& golden, ir::Graph& graph) {
  SLUICE_TRY(complete(graph));
  passes::PassContext context;
  context.accepts = refuse(golden.refused);
  context.evaluate = evaluate_to_zeros;
  const WorkCounts before = work_counts;
  const auto reports = SLUICE_TRY(passes::run_passes(graph, golden.passes, context));
  Cost cost = {(work_counts - before).visits, 0};
  for (const auto& report : reports)
    cost.num_rewrites += static_cast<std::size_t>(report.num_rewrites);
  return cost;
}

/// Visits of the passes of a case on so many operations.
Result<std::uint64_t> visits_of(const GoldenCase& golden, std::size_t num_operations) {
  ir::Graph unit = SLUICE_TRY(ir::parse_graph(golden.head));
  SLUICE_TRY(complete(unit));
  const std::size_t num_copies =
      num_operations / std::max<std::size_t>(unit.main().num_operations(), 1);
  ir::Graph chain = Chain(unit).make(num_copies);
  const Cost one = SLUICE_TRY(cost_of(golden, unit));
  const Cost all = SLUICE_TRY(cost_of(golden, chain));
  // Some cases show what a pass leaves alone.
  if (one.num_rewrites == 0 || all.num_rewrites >= num_copies / 2) return all.visits;
  return internal_error("{} copies were rewritten {} times", num_copies, all.num_rewrites);
}

void expect_linear(const GoldenCase& golden) {
  const auto few = visits_of(golden, kFewOperations);
  const auto many = visits_of(golden, kManyOperations);
  ASSERT_TRUE(few.is_ok()) << few.status().to_string();
  ASSERT_TRUE(many.is_ok()) << many.status().to_string();
  EXPECT_LT(*many, kMostGrowth * *few);
}

GoldenCase pattern(const std::string& text, std::vector<passes::Pass> passes) {
  GoldenCase golden;
  golden.head = text;
  golden.passes = std::move(passes);
  return golden;
}

class PassGrowth : public ::testing::TestWithParam<std::string> {};

TEST_P(PassGrowth, VisitsGrowWithTheChain) {
  const auto golden = read_case(path_of(GetParam()));
  ASSERT_TRUE(golden.is_ok()) << golden.status().to_string();
  expect_linear(*golden);
}

INSTANTIATE_TEST_SUITE_P(Cases, PassGrowth, ::testing::ValuesIn(case_names()),
                         [](const auto& golden) { return golden.param; });

TEST(Growth, PassesWithoutAFileHaveAPatternToo) {
  for (const auto& [pass, text] : kMorePatterns) {
    SCOPED_TRACE(pass);
    expect_linear(pattern(text, {*passes::find_pass(pass)}));
  }
}

TEST(Growth, EveryPassHasAPattern) {
  std::set<std::string_view> covered;
  for (const auto& [pass, text] : kMorePatterns) covered.insert(pass);
  for (const std::string& name : case_names()) {
    const auto golden = read_case(path_of(name));
    ASSERT_TRUE(golden.is_ok());
    for (const passes::Pass& pass : golden->passes) covered.insert(pass.name);
  }
  for (const passes::Pass* pass : passes::all_passes()) {
    EXPECT_TRUE(covered.contains(pass->name))
        << pass->name << " has no case in tests/golden, so nothing bounds its cost";
  }
}

/// All passes in a row, over a plain chain.
TEST(Growth, PipelineGrowsWithTheChain) {
  const auto all = passes::default_pipeline();
  for (const auto& [pass, text] : kMorePatterns) {
    SCOPED_TRACE(pass);
    expect_linear(pattern(text, {all.begin(), all.end()}));
  }
}

}  // namespace
}  // namespace sluice::golden
