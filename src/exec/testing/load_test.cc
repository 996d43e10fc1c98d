#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using testing::executable_of;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::load;
using testing::registry;

constexpr std::string_view kProduct = R"(
subgraph @0 "main" {
  input %x : f32[1,64]
  const %w : f32[64,32] = splat 0.5
  const %b : f32[32] = splat 1.0
  [%p : f32[1,32]] = MatMul.13[%x, %w]
  [%y : f32[1,32]] = Add.14[%p, %b]
  output [%y]
}
)";

Status load_status(package::Executable executable) {
  return LoadedModel::load(std::move(executable), registry(), {}).status();
}

TEST(LoadedModel, NamesABackendThatIsNotThere) {
  auto executable = executable_of(kProduct);
  executable.backends = {"quantum"};
  const Status status = load_status(std::move(executable));
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("quantum"));
}

TEST(LoadedModel, RefusesADamagedConstant) {
  auto executable = executable_of(kProduct);
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::Constant* constant = main.find_constant(ir::OperandId(i));
    if (constant != nullptr) executable.checksums[constant->data.data()] = 1;
  }
  const Status status = load_status(std::move(executable));
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("is damaged"));
}

TEST(LoadedModel, RefusesAnOperationWithoutABackend) {
  auto executable = executable_of(kProduct);
  executable.backend_of[0][0] = -1;
  const Status status = load_status(std::move(executable));
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("MatMul"));
}

TEST(LoadedModel, PreparationSavesWorkOfTheNextLoad) {
  const auto executable = executable_of(kProduct, "cpu");
  const auto model = LoadedModel::load(executable, registry(), {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  const auto preparation = model->preparation();
  ASSERT_TRUE(preparation.plan.has_value());
  ASSERT_FALSE(preparation.packed.empty());

  auto prepared = executable;
  prepared.plan = preparation.plan;
  prepared.packed = preparation.packed;
  const auto again = LoadedModel::load(prepared, registry(), {});
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_EQ(again->preparation().packed[0].data.data(), preparation.packed[0].data.data())
      << "packed bytes are taken as they are";
}

TEST(ReadyModel, IsPlacedOnOtherCoresAfterItsModelIsGone) {
  auto model = std::make_unique<LoadedModel>(load(kProduct, "cpu"));
  const ReadyModel ready = model->ready();
  const std::weak_ptr<const backend::Group> cores = model->group_of(0);
  model = nullptr;
  EXPECT_TRUE(cores.expired());
  const auto placed = ready.place(LoadOptions());
  ASSERT_TRUE(placed.is_ok()) << placed.status().to_string();
  EXPECT_TRUE(placed->has_static_shapes());
  Context context = placed->create_context().value();
  Aligned<float> x(std::vector<float>(64, 1));
  ASSERT_TRUE(context.set_input(0, f32_view(x, {1, 64})).is_ok());
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_EQ(floats(context.output(0)), std::vector<float>(32, 33));
}

TEST(ReadyModel, CountsTheConstantsThatItsLoadMade) {
  const LoadedModel packs = load(kProduct, "cpu");
  EXPECT_GE(packs.ready().own_bytes(), 64 * 32 * 4);
  package::Executable executable = packs.executable();  // its constants are aligned
  executable.packed = packs.preparation().packed;
  const auto takes = LoadedModel::load(executable, registry(), {});
  ASSERT_TRUE(takes.is_ok()) << takes.status().to_string();
  EXPECT_EQ(takes->ready().own_bytes(), 0);
}

TEST(LoadedModel, PackedBytesOfAnotherBackendAreRebuilt) {
  const auto executable = executable_of(kProduct, "cpu");
  const auto model = LoadedModel::load(executable, registry(), {});
  ASSERT_TRUE(model.is_ok());
  auto foreign = executable;
  foreign.packed = model->preparation().packed;
  foreign.packed[0].packing_key = "another processor";
  const auto again = LoadedModel::load(foreign, registry(), {});
  ASSERT_TRUE(again.is_ok()) << again.status().to_string();
  EXPECT_NE(again->preparation().packed[0].data.data(), foreign.packed[0].data.data());
}

/// kProduct for `cpu` with its packed constants and without the portable form of what they serve.
package::Executable packed_only() {
  auto executable = executable_of(kProduct, "cpu");
  const auto model = LoadedModel::load(executable, registry(), {});
  EXPECT_TRUE(model.is_ok()) << model.status().to_string();
  auto preparation = model->preparation();
  executable.packed = std::move(preparation.packed);
  for (const auto& [subgraph, constant] : preparation.unread) {
    executable.graph.subgraph(subgraph).operand(constant).constant->data = Bytes();
  }
  return executable;
}

TEST(LoadedModel, ConstantsThatAreOnlyPackedMayBeLeftOut) {
  const auto executable = packed_only();
  std::vector<std::string> left_out;
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::Constant* constant = main.find_constant(ir::OperandId(i));
    if (constant == nullptr || !ir::is_left_out(*constant)) continue;
    left_out.push_back(main.operand(ir::OperandId(i)).name);
  }
  EXPECT_EQ(left_out, std::vector<std::string>{"w"}) << "the addition reads b as it is";
  const auto model = LoadedModel::load(executable, registry(), {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  auto context = model->create_context();
  ASSERT_TRUE(context.is_ok()) << context.status().to_string();
  std::vector<float> x(64, 1);
  const terms::TensorView view = {
      reinterpret_cast<std::byte*>(x.data()), 256, ir::ElementType::kF32, {1, 64}};
  ASSERT_TRUE(context->set_input(0, view).is_ok());
  ASSERT_TRUE(context->run().is_ok());
  EXPECT_EQ(*reinterpret_cast<const float*>(context->output(0).data), 33);
}

TEST(LoadedModel, ConstantsLeftOutAreRefusedWhereTheyArePackedInAnotherWay) {
  auto executable = packed_only();
  executable.packed[0].packing_key = "another processor";
  const Status status = load_status(executable);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("\"w\""));
  EXPECT_THAT(status.message(), HasSubstr("for another processor"));
  EXPECT_THAT(status.message(), HasSubstr("without --packed-only"));
}

TEST(LoadedModel, RefusesLeftOutConstantsThatKernelsRead) {
  auto executable = packed_only();
  executable.packed.clear();
  EXPECT_EQ(load_status(executable).code(), Code::kFailedPrecondition);

  // A package may claim anything: here that a constant of an addition is packed.
  executable = packed_only();
  package::PackedConstant claimed = executable.packed[0];
  claimed.operation = 1;
  executable.packed.push_back(claimed);
  ir::Subgraph& main = executable.graph.main();
  const ir::OperandId b = main.operation(main.order()[1]).inputs[1];
  ASSERT_TRUE(main.is_constant(b));
  main.operand(b).constant->data = Bytes();
  EXPECT_EQ(load_status(executable).code(), Code::kFailedPrecondition);

  executable = packed_only();
  ir::Subgraph& outputs = executable.graph.main();
  outputs.outputs.push_back(outputs.operation(outputs.order()[0]).inputs[1]);
  EXPECT_EQ(load_status(executable).code(), Code::kDataLoss);
}

TEST(LoadedModel, RefusesToPassTheArenaLimit) {
  LoadOptions options;
  options.max_arena_bytes = 64;
  const auto model = LoadedModel::load(executable_of(kProduct), registry(), options);
  EXPECT_EQ(model.status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::exec
