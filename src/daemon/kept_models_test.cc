#include "daemon/kept_models.h"

#include <gmock/gmock.h>

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

TEST(KeptModels, PrintedModelsParseBack) {
  KeptModel model;
  model.path = "/models/a \"b\".sluice";
  model.options.name = "a";
  model.options.depth = 4;
  model.options.weight = 7;
  model.options.queue_limit = 0;
  model.options.nan_policy = terms::NanPolicy::kFail;
  model.options.max_run_ns = 0;
  model.options.max_recorded_bytes = 5;
  model.options.batching = terms::BatchOptions{8, 1000};
  model.options.seed = UINT64_MAX;
  model.options.isolation = terms::Isolation::kProcess;
  model.user = 1000;
  model.token = "alice";
  const auto parsed = parse_kept_models(print_kept_models({model, {.path = "/b", .options = {}}}));
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  ASSERT_EQ(parsed->size(), 2U);
  const KeptModel& back = parsed->front();
  EXPECT_EQ(back.path, model.path);
  EXPECT_EQ(back.options.name, "a");
  EXPECT_EQ(back.options.depth, 4);
  EXPECT_EQ(back.options.weight, 7);
  EXPECT_EQ(back.options.queue_limit, 0);
  EXPECT_EQ(back.options.nan_policy, terms::NanPolicy::kFail);
  EXPECT_EQ(back.options.max_run_ns, 0);
  EXPECT_EQ(back.options.max_recorded_bytes, 5);
  ASSERT_TRUE(back.options.batching.has_value());
  EXPECT_EQ(back.options.batching->rows, 8);
  EXPECT_EQ(back.options.batching->max_delay_ns, 1000);
  EXPECT_EQ(back.options.seed, UINT64_MAX);
  EXPECT_EQ(back.options.isolation, terms::Isolation::kProcess);
  EXPECT_EQ(back.user, 1000);
  EXPECT_EQ(back.token, "alice");
  EXPECT_EQ(parsed->back().user, -1);
  EXPECT_EQ(parsed->back().options.seed, std::nullopt);
  EXPECT_EQ(parsed->back().options.queue_limit, std::nullopt);
  EXPECT_EQ(parsed->back().options.max_run_ns, std::nullopt);
}

TEST(KeptModels, FilesOfOlderDaemonsAreRead) {
  const auto parsed = parse_kept_models(R"({"models": [{"path": "/a", "flag_nan": 1}]})");
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->front().options.nan_policy, terms::NanPolicy::kFlag);
}

TEST(KeptModels, DamagedStateIsNamed) {
  EXPECT_FALSE(parse_kept_models("").is_ok());
  EXPECT_FALSE(parse_kept_models("{}").is_ok());
  EXPECT_THAT(parse_kept_models(R"({"models": [{"name": "a"}]})").status().message(),
              HasSubstr("path"));
  EXPECT_THAT(parse_kept_models(R"({"models": [{"path": "/a", "weight": 0}]})").status().message(),
              HasSubstr("weight"));
}

// As clients may send it: a daemon that refused its own file would not start again.
TEST(KeptModels, TakesTheLargestNumbers) {
  const std::string file =
      R"({"models": [{"path": "/a", "max_recorded_bytes": 9223372036854775807,
          "max_run_ns": 9223372036854775807, "batch_rows": 4, "max_delay_ns": 9223372036854775807}]})";
  EXPECT_TRUE(parse_kept_models(file).is_ok()) << parse_kept_models(file).status().to_string();
}

}  // namespace
}  // namespace sluice::daemon
