#include "sluice/remote/support/bundle.h"

#include <gtest/gtest.h>

namespace sluice::tool {
namespace {

TEST(MetricsAddress, IsThatOfTheMetricsOrElseOfHttp) {
  EXPECT_EQ(metrics_address(R"({"metrics": {"value": "a:1"}, "http": {"value": "b:2"}})"), "a:1");
  EXPECT_EQ(metrics_address(R"({"metrics": {"value": ""}, "http": {"value": "b:2"}})"), "b:2");
  EXPECT_EQ(metrics_address(R"({"http": {"value": ""}})"), "");
}

TEST(MetricsAddress, SettingsOfAnotherFormHaveNone) {
  for (const char* settings : {"", "no JSON", "[]", "3", R"({"metrics": "a:1"})",
                               R"({"metrics": ["a:1"]})", R"({"metrics": {"value": 3}})",
                               R"({"http": {"value": {"value": "b:2"}}})", R"({"http": null})"}) {
    EXPECT_EQ(metrics_address(settings), "") << settings;
  }
  EXPECT_EQ(metrics_address(R"({"metrics": "a:1", "http": {"value": "b:2"}})"), "b:2");
}

}  // namespace
}  // namespace sluice::tool
