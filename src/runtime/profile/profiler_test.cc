#include "runtime/profile/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/manual_clock.h"

namespace sluice::runtime {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const terms::ProfiledModel> model_of(std::uint64_t group) {
  auto model = std::make_shared<terms::ProfiledModel>();
  model->name = "m";
  model->group = group;
  return model;
}

class ProfilerTest : public ::testing::Test {
 protected:
  /// A request numbered `request` that ends now.
  void add(const std::shared_ptr<const terms::ProfiledModel>& model, std::uint64_t request) {
    const std::int64_t now_ns = clock_.now_ns();
    const EndedSpan span = {terms::SpanKind::kRequest, 0, request, now_ns, now_ns};
    profiler_.add(model, {&span, 1});
  }
  static std::vector<std::uint64_t> requests(const terms::Profile& profile) {
    std::vector<std::uint64_t> numbers;
    for (const terms::ProfileSpan& span : profile.spans) numbers.push_back(span.request);
    return numbers;
  }

  ManualClock clock_;
  Profiler profiler_{clock_};
  const std::shared_ptr<const terms::ProfiledModel> model_ = model_of(1);
};

TEST_F(ProfilerTest, IsOnWhileAProfileRecords) {
  EXPECT_FALSE(profiler_.is_on());
  const auto first = profiler_.start({}).value();
  const auto second = profiler_.start({}).value();
  EXPECT_TRUE(profiler_.stop(first).is_ok());
  EXPECT_TRUE(profiler_.is_on());
  EXPECT_TRUE(profiler_.stop(second).is_ok());
  EXPECT_FALSE(profiler_.is_on());
  EXPECT_EQ(profiler_.stop(second).status().code(), Code::kNotFound);
}

TEST_F(ProfilerTest, RecordsTheSelectedGroupOrModelOnly) {
  const auto other_of_group = model_of(1);
  const auto of_group_two = model_of(2);
  ProfileOptions group_two;
  group_two.group = 2;
  ProfileOptions only_model;
  only_model.model = model_;
  const auto all = profiler_.start({}).value();
  const auto group = profiler_.start(group_two).value();
  const auto model = profiler_.start(only_model).value();
  add(model_, 1);
  add(other_of_group, 2);
  add(of_group_two, 3);
  EXPECT_THAT(requests(profiler_.stop(all).value()), ::testing::ElementsAre(1, 2, 3));
  const terms::Profile of_group = profiler_.stop(group).value();
  EXPECT_THAT(requests(of_group), ::testing::ElementsAre(3));
  EXPECT_EQ(of_group.models.size(), 1U);
  EXPECT_THAT(requests(profiler_.stop(model).value()), ::testing::ElementsAre(1));
}

TEST_F(ProfilerTest, KeepsNewestSpansAndCountsDroppedOnes) {
  ProfileOptions options;
  options.max_spans = 3;
  const auto id = profiler_.start(options).value();
  for (std::uint64_t request = 1; request <= 8; ++request) add(model_, request);
  const terms::Profile profile = profiler_.stop(id).value();
  EXPECT_THAT(requests(profile), ::testing::ElementsAre(6, 7, 8));
  EXPECT_EQ(profile.num_dropped, 5);
}

TEST_F(ProfilerTest, AppendedSpansFollowEachOtherAndKeepTheirModelAndName) {
  terms::Profile all;
  all.models.push_back({"here", 1, {}});
  all.names = {"Add"};
  all.spans = {{terms::SpanKind::kOperation, 0, 0, 0, 1, 10, 5, RuntimeCode::kOk}};
  terms::Profile more;
  more.models.push_back({"there", 2, {}});
  more.names = {"Relu"};
  more.num_dropped = 4;
  more.spans = {{terms::SpanKind::kOperation, 0, 0, 0, 7, 2, 3, RuntimeCode::kOk},
                {terms::SpanKind::kRequest, 0, 0, 0, 7, 0, 20, RuntimeCode::kOk}};
  append(all, more);
  EXPECT_THAT(requests(all), ::testing::ElementsAre(7, 1, 7));
  EXPECT_EQ(all.models.at(all.spans[0].model).name, "there");
  EXPECT_EQ(all.names.at(all.spans[0].name), "Relu");
  EXPECT_EQ(all.models.at(all.spans[1].model).name, "here");
  EXPECT_EQ(all.names.at(all.spans[1].name), "Add");
  EXPECT_EQ(all.num_dropped, 4);
}

TEST_F(ProfilerTest, EndsByItselfAndWaitsToBeFetched) {
  ProfileOptions options;
  options.limit_ns = 100;
  const auto id = profiler_.start(options).value();
  add(model_, 1);
  clock_.advance(101);
  add(model_, 2);
  EXPECT_FALSE(profiler_.is_on());
  const terms::Profile profile = profiler_.stop(id).value();
  EXPECT_THAT(requests(profile), ::testing::ElementsAre(1));
  EXPECT_EQ(profile.duration_ns, 100);
}

TEST_F(ProfilerTest, RefusesMoreThanItHolds) {
  for (std::size_t i = 0; i < Profiler::kMaxProfiles; ++i) {
    EXPECT_TRUE(profiler_.start({}).is_ok());
  }
  const auto more = profiler_.start({});
  EXPECT_EQ(more.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(more.status().message(), HasSubstr("1, 2, 3, 4"));
  EXPECT_TRUE(profiler_.stop(2).is_ok());
  EXPECT_TRUE(profiler_.start({}).is_ok());
}

TEST_F(ProfilerTest, RefusesInvalidLimits) {
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX}) {
    ProfileOptions spans;
    spans.max_spans = wrong;
    EXPECT_EQ(profiler_.start(spans).status().code(), Code::kInvalidArgument) << wrong;
    ProfileOptions limit;
    limit.limit_ns = wrong;
    EXPECT_EQ(profiler_.start(limit).status().code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_FALSE(profiler_.is_on());
}

TEST_F(ProfilerTest, NamesAreBoundedInNumberAndLength) {
  const auto id = profiler_.start({}).value();
  for (int i = 0; i < 20000; ++i) {
    const std::string name = std::to_string(i) + std::string(1000, 'x');
    const EndedSpan span = {terms::SpanKind::kOperation, 0, 1, 0, 0, RuntimeCode::kOk, name};
    profiler_.add(model_, {&span, 1});
  }
  const terms::Profile profile = profiler_.stop(id).value();
  EXPECT_EQ(profile.spans.size(), 20000U);
  EXPECT_EQ(profile.names.size(), 16385U);
  EXPECT_EQ(profile.names.at(profile.spans.back().name), "(other)");
  for (const std::string& name : profile.names) EXPECT_LE(name.size(), 160U);
}

}  // namespace
}  // namespace sluice::runtime
