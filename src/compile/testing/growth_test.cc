// Compiling, loading and running cost what grows with the graph, not with its square: in chains,
// fan-outs, and graphs of very many constants, outputs, views, branches and loops. Counts of work
// are compared, not times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/log/work_counts.h"
#include "compile/compile.h"
#include "exec/loaded_model.h"
#include "ir/text/graph_text.h"

namespace sluice::compile {
namespace {

constexpr int kFew = 50;
constexpr int kMany = 500;
/// Sorting takes a little more than linear time.
constexpr std::uint64_t kMostGrowth = 13;

const backend::BackendRegistry& plug_ins() {
  static const backend::BackendRegistry kRegistry = backend::BackendRegistry::discover();
  return kRegistry;
}

std::string main_graph(const std::string& steps, const std::string& outputs) {
  return fmt::format(
      "subgraph @0 \"main\" {{\n  input %x : f32[N,4]\n  input %go : bool[]\n  const %ten : i64[] "
      "= "
      "[10]\n  const %w : f32[4,4] = [1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, "
      "0.5, 0.0, 0.0, 1.0]\n{}  output [{}]\n}}\n",
      steps, outputs);
}

std::string products(int count) {
  std::string steps;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format(
        "  [%m{0} : f32[N,4]] = MatMul.13[%{1}, %w]\n  [%v{0} : f32[N,4]] = Tanh.13[%m{0}]\n", i,
        i == 0 ? "x" : fmt::format("v{}", i - 1));
  }
  return main_graph(steps, fmt::format("%v{}", count - 1));
}

std::string fan_out(int count) {
  std::string steps, all;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format("  [%v{} : f32[N,4]] = MatMul.13[%x, %w]\n", i);
    all += fmt::format("{}%v{}", i == 0 ? "" : ", ", i);
  }
  return main_graph(steps + fmt::format("  [%y : f32[N,4]] = Sum.13[{}]\n", all), "%y");
}

std::string constants(int count) {
  std::string steps;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format(
        "  const %c{0} : f32[4] = [{0}.0, 1.0, 2.0, 3.0]\n  [%v{0} : f32[N,4]] = Add.14[%{1}, "
        "%c{0}]\n",
        i, i == 0 ? "x" : fmt::format("v{}", i - 1));
  }
  return main_graph(steps, fmt::format("%v{}", count - 1));
}

std::string outputs(int count) {
  std::string steps, all;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format("  [%v{0} : f32[N,4]] = MatMul.13[%{1}, %w]\n", i,
                         i == 0 ? "x" : fmt::format("v{}", i - 1));
    all += fmt::format("{}%v{}", i == 0 ? "" : ", ", i);
  }
  return main_graph(steps, all);
}

std::string views(int count) {
  std::string steps = "  const %flat : i64[1] = [-1]\n  const %rows : i64[2] = [-1, 4]\n";
  for (int i = 0; i < count; ++i) {
    steps += fmt::format(
        "  [%f{0} : f32[4*N]] = Reshape.14[%{1}, %flat]\n  [%r{0} : f32[N,4]] = Reshape.14[%f{0}, "
        "%rows]\n  [%i{0} : f32[N,4]] = Identity.16[%r{0}]\n  [%v{0} : f32[N,4]] = "
        "MatMul.13[%i{0}, "
        "%w]\n",
        i, i == 0 ? "x" : fmt::format("v{}", i - 1));
  }
  return main_graph(steps, fmt::format("%v{}", count - 1));
}

std::string branches(int count) {
  std::string steps, bodies;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format(
        "  [%b{0} : f32[N,4]] = If.25[%go, %{1}, %ten] {{captures = 2, else_branch = @{2}, "
        "then_branch = "
        "@{3}}}\n  [%v{0} : f32[N,4]] = MatMul.13[%b{0}, %w]\n",
        i, i == 0 ? "x" : fmt::format("v{}", i - 1), 2 * i + 2, 2 * i + 1);
    for (const char* kind : {"Relu.14", "Neg.13"}) {
      bodies += fmt::format(
          "subgraph @{} \"branch\" {{\n  input %a : f32[N,4]\n  input %k : i64[]\n  [%t : "
          "f32[N,4]] = "
          "{}[%a]\n  output [%t]\n}}\n",
          2 * i + (kind[0] == 'R' ? 1 : 2), kind);
    }
  }
  return main_graph(steps, fmt::format("%v{}", count - 1)) + bodies;
}

std::string loops(int count) {
  std::string steps, bodies;
  for (int i = 0; i < count; ++i) {
    steps += fmt::format(
        "  [%v{0} : f32[N,4]] = Loop.25[%two, %go, %{1}, %w] {{body = @{2}, captures = 1}}\n", i,
        i == 0 ? "x" : fmt::format("v{}", i - 1), i + 1);
    bodies += fmt::format(
        "subgraph @{} \"body\" {{\n  input %n : i64[]\n  input %on : bool[]\n  input %a : "
        "f32[N,4]\n  "
        "input %m : f32[4,4]\n  [%t : f32[N,4]] = MatMul.13[%a, %m]\n  [%u : bool[]] = "
        "Identity.16[%on]\n  output [%u, %t]\n}}\n",
        i + 1);
  }
  return main_graph("  const %two : i64[] = [2]\n" + steps, fmt::format("%v{}", count - 1)) +
         bodies;
}

Status run(const exec::LoadedModel& model, exec::Context& context, std::int64_t rows) {
  std::vector<float> x(static_cast<std::size_t>(rows * 4), 0.5F);
  std::uint8_t go = 1;
  const auto& inputs = model.signature().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_x = inputs[i].name == "x";
    SLUICE_TRY(context.set_input(
        i, is_x ? terms::TensorView{x.data(), rows * 16, ir::ElementType::kF32, {rows, 4}}
                : terms::TensorView{&go, 1, ir::ElementType::kBool, {}}));
  }
  return context.run();
}

struct Work {
  WorkCounts compile;
  WorkCounts first_run;  ///< plans all
  WorkCounts new_shape;
  WorkCounts known_shape;
};

Result<Work> work_of(const std::string& text, bool optimize) {
  ir::Graph graph = SLUICE_TRY(ir::parse_graph(text));
  CompileOptions options;
  options.optimize = optimize;
  Work work;
  const WorkCounts start = work_counts;
  const auto executable = SLUICE_TRY(compile(std::move(graph), plug_ins(), options));
  work.compile = work_counts - start;
  exec::LoadOptions loading;
  loading.num_threads = 1;
  const auto model = SLUICE_TRY(exec::LoadedModel::load(executable, plug_ins(), loading));
  auto context = SLUICE_TRY(model.create_context());
  const auto measure = [&](std::int64_t rows, WorkCounts& to) -> Status {
    const WorkCounts before = work_counts;
    SLUICE_TRY(run(model, context, rows));
    to = work_counts - before;
    return ok_status();
  };
  SLUICE_TRY(measure(3, work.first_run));
  SLUICE_TRY(measure(4, work.new_shape));
  SLUICE_TRY(measure(3, work.known_shape));
  return work;
}

/// The results of a fan-out are all alive at once: the arena's sweep places them without comparing
/// pairs (plan/arena_layout.cc).
struct Shape {
  const char* name;
  std::string (*make)(int count);
};

class CompileGrowth : public ::testing::TestWithParam<Shape> {};

TEST_P(CompileGrowth, WorkGrowsWithTheGraph) {
  for (const bool optimize : {true, false}) {
    const auto few = work_of(GetParam().make(kFew), optimize);
    const auto many = work_of(GetParam().make(kMany), optimize);
    ASSERT_TRUE(few.is_ok()) << few.status().to_string();
    ASSERT_TRUE(many.is_ok()) << many.status().to_string();
    EXPECT_LT(many->compile.visits, kMostGrowth * few->compile.visits);
    EXPECT_LT(many->compile.shape_functions, kMostGrowth * few->compile.shape_functions);
    EXPECT_LT(many->first_run.visits, kMostGrowth * few->first_run.visits);
    EXPECT_LT(many->new_shape.visits, kMostGrowth * few->new_shape.visits);
    EXPECT_LE(many->known_shape.visits, kMostGrowth * few->known_shape.visits + kMany);
    EXPECT_EQ(many->known_shape.kernels, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, CompileGrowth,
                         ::testing::Values(Shape{"Products", products}, Shape{"FanOut", fan_out},
                                           Shape{"Constants", constants}, Shape{"Outputs", outputs},
                                           Shape{"Views", views}, Shape{"Branches", branches},
                                           Shape{"Loops", loops}),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace sluice::compile
