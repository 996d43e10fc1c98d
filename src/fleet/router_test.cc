#include "fleet/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(Router, LeastGoesToTheMachineWithTheFewestRequests) {
  Router router(Route::kLeast, 3);
  EXPECT_THAT(router.send(0), Optional(0U));
  EXPECT_THAT(router.send(0), Optional(1U));
  EXPECT_THAT(router.send(0), Optional(2U));
  router.ended(1);
  EXPECT_THAT(router.send(0), Optional(1U));
  EXPECT_THAT(router.send(0), Optional(0U)) << "of equal ones the longest unused";
}

TEST(Router, MachinesThatAreDownGetNothing) {
  for (const Route route : {Route::kLeast, Route::kModel, Route::kTurns}) {
    Router router(route, 2);
    router.set_up(0, false);
    for (std::uint32_t model = 0; model < 10; ++model)
      EXPECT_THAT(router.send(model), Optional(1U));
    router.set_up(1, false);
    EXPECT_FALSE(router.send(0).has_value());
    router.set_up(0, true);
    EXPECT_THAT(router.send(0), Optional(0U));
  }
}

TEST(Router, ModelStaysWhereItIsWhenAnotherMachineIsLost) {
  constexpr std::uint32_t kModels = 2000;
  Router router(Route::kModel, 10);
  std::map<std::uint32_t, std::uint32_t> homes;
  std::map<std::uint32_t, int> counts;
  for (std::uint32_t model = 0; model < kModels; ++model) {
    homes[model] = *router.send(model);
    EXPECT_EQ(homes[model], router.home_of(model));
    ++counts[homes[model]];
  }
  for (const auto& [machine, count] : counts) EXPECT_NEAR(count, 200, 90);
  router.set_up(3, false);
  for (std::uint32_t model = 0; model < kModels; ++model) {
    if (homes[model] == 3) continue;
    EXPECT_EQ(*router.send(model), homes[model]);
  }
}

TEST(Router, TurnsGoAround) {
  Router router(Route::kTurns, 3);
  std::vector<std::uint32_t> sent;
  for (int i = 0; i < 6; ++i) sent.push_back(*router.send(0));
  EXPECT_THAT(sent, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(Router, RoutesHaveNames) {
  for (const Route route : {Route::kLeast, Route::kModel, Route::kTurns}) {
    EXPECT_THAT(find_route(route_name(route)), Optional(route));
  }
  EXPECT_FALSE(find_route("fastest").has_value());
}

}  // namespace
}  // namespace sluice::fleet
