#include "daemon/kept/kept_file.h"

#include <gmock/gmock.h>

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

TEST(KeptFile, PrintedModelsParseBack) {
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
  model.number = 7;
  model.user = 1000;
  model.token = "alice";
  model.error = "no such file";
  const auto parsed = parse_kept_models(print_kept_models({model, {.number = 9, .path = "/b"}}));
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
  EXPECT_EQ(back.number, 7);
  EXPECT_EQ(back.error, "no such file");
  EXPECT_EQ(back.user, 1000);
  EXPECT_EQ(back.token, "alice");
  EXPECT_EQ(back.options.function, std::nullopt);
  EXPECT_EQ(parsed->back().user, -1);
  EXPECT_EQ(parsed->back().options.seed, std::nullopt);
  EXPECT_EQ(parsed->back().options.queue_limit, std::nullopt);
  EXPECT_EQ(parsed->back().options.max_run_ns, std::nullopt);
}

TEST(KeptFile, FunctionsUploadsAndGraphsParseBack) {
  KeptModel function;
  function.number = 3;
  function.package = "3.sluice";
  function.options.function =
      terms::FunctionOptions{2, -5, std::int64_t{1} << 40, terms::kAlwaysWarm, 16};
  KeptModel graph;
  graph.number = 4;
  graph.options.name = "reader";
  graph.graph = sandbox::GraphFile{{{"a", "3"}, {"b", "3"}},
                                   {terms::GraphEdge::parse("a.y=b.x").value()},
                                   {terms::GraphPort::parse("a.y").value()}};
  const auto parsed = parse_kept_models(print_kept_models({function, graph}));
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->front().package, "3.sluice");
  ASSERT_TRUE(parsed->front().options.function.has_value());
  EXPECT_EQ(parsed->front().options.function->share, 2);
  EXPECT_EQ(parsed->front().options.function->priority, -5);
  EXPECT_EQ(parsed->front().options.function->memory_bytes, std::int64_t{1} << 40);
  EXPECT_EQ(parsed->front().options.function->keep_warm_ns, terms::kAlwaysWarm);
  EXPECT_EQ(parsed->front().options.function->batch_rows, 16);
  const auto& back = parsed->back().graph;
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->functions.size(), 2U);
  EXPECT_EQ(back->functions[1].name, "b");
  EXPECT_EQ(back->functions[1].function, "3");
  ASSERT_EQ(back->edges.size(), 1U);
  EXPECT_EQ(back->edges[0].to.to_string(), "b.x");
  ASSERT_EQ(back->outputs.size(), 1U);
  EXPECT_EQ(back->outputs[0].to_string(), "a.y");
}

TEST(KeptFile, PackagesAreNumbersOfTheirFolder) {
  EXPECT_EQ(package_number(package_name(17)), 17);
  for (const char* name : {"", ".sluice", "0.sluice", "-1.sluice", "../1.sluice", "1.sluice/2", "1",
                           "1a.sluice", "99999999999999999999.sluice"}) {
    EXPECT_EQ(package_number(name), std::nullopt) << name;
  }
  EXPECT_THAT(
      parse_kept_models(R"({"models": [{"package": "../../etc/a.sluice"}]})").status().message(),
      HasSubstr("package"));
}

TEST(KeptFile, FilesOfOlderDaemonsAreRead) {
  const auto parsed = parse_kept_models(
      R"({"models": [{"path": "/a", "flag_nan": 1}, {"path": "/b", "number": 4}]})");
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->front().number, 5);
  EXPECT_EQ(parsed->front().options.nan_policy, terms::NanPolicy::kFlag);
}

TEST(KeptFile, DamagedStateIsNamed) {
  EXPECT_FALSE(parse_kept_models("").is_ok());
  EXPECT_FALSE(parse_kept_models("{}").is_ok());
  EXPECT_THAT(parse_kept_models(R"({"models": [{"name": "a"}]})").status().message(),
              HasSubstr("path"));
  EXPECT_THAT(parse_kept_models(R"({"models": [{"path": "/a", "package": "1.sluice"}]})")
                  .status()
                  .message(),
              HasSubstr("one of path"));
  EXPECT_THAT(parse_kept_models(R"({"models": [{"path": "/a", "weight": 0}]})").status().message(),
              HasSubstr("weight"));
  EXPECT_THAT(
      parse_kept_models(R"({"models": [{"path": "/a", "number": 2}, {"path": "/b", "number": 2}]})")
          .status()
          .message(),
      HasSubstr("number 2"));
}

// As clients may send it: a daemon that refused its own file would not start again.
TEST(KeptFile, TakesTheLargestNumbers) {
  const std::string file =
      R"({"models": [{"path": "/a", "max_recorded_bytes": 9223372036854775807,
          "max_run_ns": 9223372036854775807, "batch_rows": 4, "max_delay_ns": 9223372036854775807}]})";
  EXPECT_TRUE(parse_kept_models(file).is_ok()) << parse_kept_models(file).status().to_string();
}

}  // namespace
}  // namespace sluice::daemon
