#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::executable_of;
using ::testing::HasSubstr;
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

TEST(LoadedModel, RefusesToPassTheArenaLimit) {
  LoadOptions options;
  options.max_arena_bytes = 64;
  const auto model = LoadedModel::load(executable_of(kProduct), registry(), options);
  EXPECT_EQ(model.status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::exec
