#include "repository/config/traffic_text.h"

#include <gmock/gmock.h>

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string traffic_error(std::string_view setting, std::string_view value) {
  dispatch::Traffic traffic;
  return read_traffic(setting, value, traffic).message();
}

TEST(TrafficText, ReadsLabelsWeightsAndAShadow) {
  dispatch::Traffic traffic;
  ASSERT_TRUE(read_traffic("version_labels", "stable=1, canary = 2,", traffic).is_ok());
  ASSERT_TRUE(read_traffic("version_weights", "1=90,2=10", traffic).is_ok());
  ASSERT_TRUE(read_traffic("shadow_version", " 3", traffic).is_ok());
  EXPECT_THAT(traffic.labels, ElementsAre(Pair("canary", 2), Pair("stable", 1)));
  ASSERT_EQ(traffic.shares.size(), 2U);
  EXPECT_EQ(traffic.shares[1].version, 2);
  EXPECT_EQ(traffic.shares[1].weight, 10);
  EXPECT_EQ(traffic.shadow, 3);
  ASSERT_TRUE(read_traffic("version_labels", "", traffic).is_ok());
  EXPECT_TRUE(traffic.labels.empty());
  EXPECT_FALSE(is_traffic("version_label"));
}

TEST(TrafficText, RefusesWhatCannotBe) {
  EXPECT_THAT(traffic_error("version_labels", "stable"), HasSubstr("NAME=NUMBER"));
  EXPECT_THAT(traffic_error("version_labels", "=1"), HasSubstr("NAME=NUMBER"));
  EXPECT_THAT(traffic_error("version_labels", "a=1,a=2"), HasSubstr("twice"));
  EXPECT_THAT(traffic_error("version_labels", "a=0"), HasSubstr("no whole number"));
  EXPECT_THAT(traffic_error("version_labels", "a=99999999999999999999"),
              HasSubstr("no whole number"));
  EXPECT_THAT(traffic_error("version_labels", "7=1"), HasSubstr("starts with a letter"));
  EXPECT_THAT(traffic_error("version_labels", "../a=1"), HasSubstr("slash"));
  EXPECT_THAT(traffic_error("version_labels", "a\n=1"), HasSubstr("control"));
  EXPECT_THAT(traffic_error("version_weights", "1=-1"), HasSubstr("no whole number"));
  EXPECT_THAT(traffic_error("version_weights", "1=1000001"), HasSubstr("no whole number"));
  EXPECT_THAT(traffic_error("version_weights", "one=1"), HasSubstr("no whole number"));
  EXPECT_THAT(traffic_error("shadow_version", "latest"), HasSubstr("no whole number"));
  std::string many;
  for (int i = 1; i < 100; ++i) many += fmt::format("{}=1,", i);
  EXPECT_THAT(traffic_error("version_weights", many), HasSubstr("entries"));
}

/// Whatever comes before, a few requests in a row show the shares.
TEST(TrafficTurns, ShareRequestsAsTheirWeightsSay) {
  dispatch::Traffic traffic;
  traffic.shares = {{1, 90}, {2, 10}, {3, 0}};
  const dispatch::TrafficTurns turns(traffic);
  for (int round = 0; round < 50; ++round) {
    int canary = 0;
    for (int i = 0; i < 100; ++i) {
      const auto version = turns.next([](std::int64_t) { return true; });
      ASSERT_TRUE(version == 1 || version == 2);
      canary += version == 2 ? 1 : 0;
    }
    EXPECT_GE(canary, 7);
    EXPECT_LE(canary, 13);
  }
}

TEST(TrafficTurns, VersionsThatAreNotThereLeaveTheirShareToOthers) {
  dispatch::Traffic traffic;
  traffic.shares = {{1, 90}, {2, 10}};
  const dispatch::TrafficTurns turns(traffic);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(turns.next([](std::int64_t version) { return version == 2; }), 2);
  }
  EXPECT_EQ(turns.next([](std::int64_t) { return false; }), std::nullopt);
}

}  // namespace
}  // namespace sluice::repository
