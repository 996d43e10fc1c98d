#include "runtime/packages/package_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "runtime/testing/engine_testing.h"

namespace sluice::runtime {
namespace {

std::shared_ptr<const exec::LoadedModel> placed(CachedPackage& package) {
  auto made = package.place(testing::registry(), exec::LoadOptions(), {});
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return made.is_ok() ? made->model : nullptr;
}

TEST(PackageCache, ReadyModelOutlivesItsModels) {
  PackageCache cache;
  const auto package = cache.open(testing::aligned_add_relu());
  package->keep_ready();
  auto model = placed(*package);
  ASSERT_NE(model, nullptr);
  const package::Executable* const executable = &model->executable();
  const exec::ReadyModel holds_the_address = model->ready();
  const std::weak_ptr<const backend::Group> cores = model->group_of(0);
  model = nullptr;
  EXPECT_TRUE(cores.expired()) << "it holds no cores";
  model = placed(*package);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(&model->executable(), executable) << "it was prepared again";
  model = nullptr;
  package->forget_ready();
  model = placed(*package);
  ASSERT_NE(model, nullptr);
  EXPECT_NE(&model->executable(), executable) << "it was not forgotten";
}

TEST(PackageCache, WithoutAWishNothingOutlivesTheModels) {
  PackageCache cache;
  const auto package = cache.open(testing::aligned_add_relu());
  auto model = placed(*package);
  ASSERT_NE(model, nullptr);
  const package::Executable* const executable = &model->executable();
  const exec::ReadyModel holds_the_address = model->ready();
  model = nullptr;
  model = placed(*package);
  ASSERT_NE(model, nullptr);
  EXPECT_NE(&model->executable(), executable);
}

TEST(PackageCache, ModelsInOneBudgetReserveTheirConstantsOnce) {
  PackageCache cache;
  const auto package = cache.open(testing::aligned_add_relu());
  topology::MemoryBudget budget("group 1", 1000);
  topology::MemoryBudget other("group 2", 1000);
  const terms::Footprint footprint = {.constants_bytes = 600, .packed_bytes = 100};
  auto first = package->reserve(budget, footprint);
  ASSERT_TRUE(first.is_ok());
  auto second = package->reserve(budget, footprint);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_EQ(budget.used_bytes(), 700);
  auto elsewhere = package->reserve(other, footprint);
  EXPECT_EQ(other.used_bytes(), 700);
  first.value() = nullptr;
  EXPECT_EQ(budget.used_bytes(), 700) << "the second has them";
  second.value() = nullptr;
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_FALSE(package->reserve(budget, {.constants_bytes = 900, .packed_bytes = 200}).is_ok());
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(ReadyModels, ModelKeptLeastRecentlyGoes) {
  const auto model = exec::LoadedModel::load(*testing::add_relu(), testing::registry(), {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  ReadyModels ready_models;
  std::array<std::weak_ptr<const exec::ReadyModel>, ReadyModels::kMost + 1> all;
  for (auto& one : all) {
    const auto ready = std::make_shared<const exec::ReadyModel>(model->ready());
    ready_models.keep(ready);
    one = ready;
    if (&one != &all.front()) ready_models.keep(all.front().lock());  // it is used all the time
  }
  EXPECT_FALSE(all[0].expired());
  EXPECT_TRUE(all[1].expired());
  EXPECT_FALSE(all[2].expired());
  ready_models.drop(all[2].lock());
  EXPECT_TRUE(all[2].expired());
}

}  // namespace
}  // namespace sluice::runtime
