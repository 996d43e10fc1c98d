#include "compile/tune/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/system/processor.h"
#include "compile/compile.h"
#include "compile/profile/operation_key.h"
#include "compile/tune/trial_model.h"
#include "exec/testing/exec_testing.h"
#include "ir/text/graph_text.h"
#include "package/package.h"
#include "support/paths.h"

namespace sluice::compile {
namespace {

using exec::testing::Aligned;
using exec::testing::f32_view;
using exec::testing::registry;
using ::testing::HasSubstr;

/// Two convolutions that are alike, one that reads another image, and a product.
constexpr const char* kNetwork = R"(
subgraph @0 "main" {
  input %x : f32[1,32,20,20]
  const %w1 : f32[32,32,3,3] = splat 0.01
  const %w2 : f32[32,32,3,3] = splat 0.02
  const %w3 : f32[64,32,3,3] = splat 0.01
  const %m : f32[6400,10] = splat 0.001
  [%a : unknown] = Conv.22[%x, %w1] {pads = [1, 1, 1, 1]} "first"
  [%b : unknown] = Conv.22[%a, %w2] {pads = [1, 1, 1, 1]} "second"
  [%c : unknown] = Conv.22[%b, %w3] {pads = [1, 1, 1, 1], strides = [2, 2]} "third"
  [%f : unknown] = Flatten.21[%c]
  [%y : f32[1,10]] = MatMul.13[%f, %m] "last"
  output [%y]
}
)";

package::Executable compiled(const char* text = kNetwork) {
  auto executable = compile(ir::parse_graph(text).value(), registry(), {});
  EXPECT_TRUE(executable.is_ok()) << executable.status().to_string();
  return std::move(executable).value();
}

const backend::Backend& cpu() {
  static const auto kCpu = registry().find("cpu").value();
  return *kCpu;
}

std::vector<std::shared_ptr<const backend::Backend>> backends() {
  return {registry().find("cpu").value()};
}

class Network : public ::testing::Test {
 protected:
  Network() {
    std::vector<float> values(32 * 400);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    values_.emplace_back(values);
    input_ = f32_view(values_.back(), {1, 32, 20, 20});
  }

  std::vector<float> run(const package::Executable& executable) {
    auto model = exec::LoadedModel::load(executable, registry(), {});
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    auto context = model->create_context();
    EXPECT_TRUE(context->set_input(0, input_).is_ok());
    EXPECT_TRUE(context->run().is_ok());
    return exec::testing::floats(context->output(0));
  }

  void expect_same(const package::Executable& executable, const std::vector<float>& want) {
    const std::vector<float> got = run(executable);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
  }

  std::vector<Aligned<float>> values_;
  terms::TensorView input_;
};

const TunableGroup* find_group(const std::vector<TunableGroup>& groups, std::size_t position) {
  for (const TunableGroup& group : groups) {
    for (const OperationPosition& at : group.members) {
      if (at.position == position) return &group;
    }
  }
  return nullptr;
}

std::vector<TunableGroup> groups_of(const package::Executable& executable) {
  auto groups = find_tunable(executable, executable.graph, backends(), 2);
  EXPECT_TRUE(groups.is_ok()) << groups.status().to_string();
  return std::move(groups).value();
}

/// Position in the order of the operation of that name.
std::size_t position_of(const package::Executable& executable, std::string_view name) {
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t position = 0; position < main.order().size(); ++position) {
    if (main.operation(main.order()[position]).name == name) return position;
  }
  ADD_FAILURE() << name;
  return 0;
}

ir::Operation& operation_of(package::Executable& executable, std::string_view name) {
  ir::Subgraph& main = executable.graph.main();
  return main.operation(main.order()[position_of(executable, name)]);
}

TEST_F(Network, EqualOperationsShareOneMeasurement) {
  if (usable_cpus().size() < 2) GTEST_SKIP() << "one worker has no choice for the third operation";
  const package::Executable executable = compiled();
  const auto groups = groups_of(executable);
  const TunableGroup* first = find_group(groups, position_of(executable, "second"));
  const TunableGroup* third = find_group(groups, position_of(executable, "third"));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(third, nullptr);
  EXPECT_NE(first, third);
  EXPECT_THAT(third->text, HasSubstr("Conv [1,32,20,20] [64,32,3,3]"));
  package::Executable twice = compiled(R"(
subgraph @0 "main" {
  input %x : f32[1,32,20,20]
  const %w : f32[32,32,3,3] = splat 0.01
  const %v : f32[32,32,3,3] = splat 0.02
  [%a : unknown] = Conv.22[%x, %w] {pads = [1, 1, 1, 1]} "first"
  [%b : unknown] = Conv.22[%a, %v] {pads = [1, 1, 1, 1]} "second"
  [%c : f32[1,32,20,20]] = Conv.22[%b, %w] {pads = [1, 1, 1, 1]} "third"
  output [%c]
}
)");
  const auto shared = groups_of(twice);
  const TunableGroup* second = find_group(shared, position_of(twice, "second"));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(find_group(shared, position_of(twice, "third")), second);
  EXPECT_GE(second->members.size(), 2U);
}

TEST_F(Network, EveryTacticOfEveryGroupGivesTheSameResult) {
  const package::Executable executable = compiled();
  const std::vector<float> want = run(executable);
  const auto groups = groups_of(executable);
  const auto all = backends();
  TrialMaker trials(executable, groups, {&input_, 1}, all, registry(), 2);
  int tried = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    EXPECT_EQ(groups[g].tactics.front(), "");
    for (std::size_t tactic = 1; tactic < groups[g].tactics.size(); ++tactic) {
      std::vector<int> choice(groups.size());
      choice[g] = static_cast<int>(tactic);
      package::Executable chosen = executable;
      apply_tactics(groups, choice, chosen.graph);
      expect_same(chosen, want);
      const auto trial = trials.make(choice);
      ASSERT_TRUE(trial.is_ok()) << trial.status().to_string();
      const auto times = (*trial)->time_groups();
      ASSERT_TRUE(times.is_ok()) << times.status().to_string();
      for (const double ns : *times) EXPECT_GT(ns, 0);
      EXPECT_GT((*trial)->time_run().value(), 0);
      ++tried;
    }
  }
  EXPECT_GE(tried, 2);
}

TEST_F(Network, TuningKeepsResults) {
  const package::Executable executable = compiled();
  const std::vector<float> want = run(executable);
  TuneOptions options;
  options.seconds = 0.3;
  options.num_threads = 2;
  const auto tuning = tune(executable, {&input_, 1}, registry(), options);
  ASSERT_TRUE(tuning.is_ok()) << tuning.status().to_string();
  EXPECT_GT(tuning->report.num_groups, 0U);
  EXPECT_THAT(tuning->report.machine, HasSubstr(cpu().packing_key()));
  expect_same(tuning->executable, want);
}

TEST_F(Network, ChosenTacticsAndTheirWeightsAreSavedInThePackage) {
  package::Executable executable = compiled();
  const std::vector<float> want = run(executable);
  const std::string direct = cpu().packing_key() + "/direct";
  operation_of(executable, "second").attributes.set("sluice_variant", direct);
  const testing::TempDir folder;
  ASSERT_TRUE(package::write_package(executable, folder / "m.sluice").is_ok());
  auto read = package::read_package(folder / "m.sluice");
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  expect_same(*read, want);
  // The next tuning starts from the saved tactic; the backend's default is one of the others.
  const auto groups = groups_of(*read);
  const TunableGroup* group = find_group(groups, position_of(*read, "second"));
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->tactics.front(), direct);
  EXPECT_EQ(group->tactics[1], "");
}

TEST_F(Network, UnknownTacticNamesMeanTheBackendsDefault) {
  package::Executable executable = compiled();
  const std::vector<float> want = run(executable);
  for (const char* name :
       {"", "nonsense", "avx9000/direct", "avx512/direct/channels/", "\xff/%s"}) {
    operation_of(executable, "second").attributes.set("sluice_variant", std::string(name));
    EXPECT_EQ(run(executable), want) << name;
  }
  operation_of(executable, "second").attributes.set("sluice_variant", std::int64_t{7});
  EXPECT_EQ(run(executable), want) << "an attribute of another kind";
}

TEST(Tune, SymbolicShapesComeFromTheSampleInputs) {
  const package::Executable executable = compiled(R"(
subgraph @0 "main" {
  input %x : f32[N,300]
  const %w : f32[300,400] = splat 0.01
  [%y : f32[N,400]] = MatMul.13[%x, %w] "product"
  output [%y]
}
)");
  EXPECT_TRUE(groups_of(executable).empty()) << "nothing is known of N";
  std::vector<float> values(200 * 300, 0.5F);
  Aligned<float> rows(values);
  const std::vector<terms::TensorView> inputs = {f32_view(rows, {200, 300})};
  TuneOptions options;
  options.seconds = 0.1;
  const auto tuning = tune(executable, inputs, registry(), options);
  ASSERT_TRUE(tuning.is_ok()) << tuning.status().to_string();
  EXPECT_EQ(tuning->report.num_groups, 1U);
  EXPECT_FALSE(tune(executable, {}, registry(), options).is_ok());
}

TEST(KeyOf, KeyIgnoresNamesAndTellsShapesAndAttributesApart) {
  const auto key = [](const char* line) {
    const auto executable = exec::testing::executable_of(
        fmt::format("subgraph @0 \"main\" {{ input %x : f32[4,4] const %c : f32[4,4] = splat 1.0\n"
                    "{} output [%y] }}",
                    line),
        "cpu");
    const ir::Subgraph& main = executable.graph.main();
    const auto op =
        backend::Op::create({executable.graph, main, main.operation(main.order().front())});
    EXPECT_TRUE(op.is_ok()) << op.status().to_string();
    return key_of(op->get());
  };
  const std::string usual = key("[%y : f32[4,4]] = Gemm.13[%x, %c] {alpha = 1.0}");
  EXPECT_EQ(usual, key("[%y : f32[4,4]] = Gemm.13[%x, %c] {alpha = 1.0} \"named\""));
  EXPECT_EQ(usual, key("[%y : f32[4,4]] = Gemm.13[%x, %c] {alpha = 1.0, sluice_variant = \"z\"}"));
  EXPECT_NE(usual, key("[%y : f32[4,4]] = Gemm.13[%x, %c] {alpha = 2.0}"));
  EXPECT_NE(usual, key("[%y : f32[4,4]] = Gemm.13[%x, %x] {alpha = 1.0}"));
  EXPECT_NE(usual, key("[%y : f32[4,4]] = Gemm.13[%x, %c] {alpha = 1.0, sluice_weights = \"a\"}"));
  EXPECT_NE(usual, key("[%y : f32[4,4]] = MatMul.13[%x, %c]"));
}

}  // namespace
}  // namespace sluice::compile
