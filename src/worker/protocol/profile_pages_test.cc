#include "worker/protocol/profile_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/protocol/channel.h"

namespace sluice::worker {
namespace {

using nlohmann::json;
using terms::Profile;
using terms::SpanKind;

/// One model of two lanes, more names and spans than a page holds.
Profile long_profile() {
  Profile profile;
  profile.start_ns = 1000;
  profile.duration_ns = 5000;
  profile.num_dropped = 3;
  profile.models.push_back(
      {"net", 0, {{terms::StageKind::kCompute, {{terms::DeviceId(0), 1}}}, {}}});
  for (int i = 0; i < 100; ++i) profile.names.push_back(std::string(160, '\x01'));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    profile.spans.push_back({SpanKind::kOperation, 0, i % 2, i % 100, ~std::uint64_t{0} >> 2U,
                             (std::int64_t{1} << 61) + i, std::int64_t{1} << 61, RuntimeCode::kOk});
  }
  return profile;
}

std::vector<json> pages_of(const Profile& profile) {
  std::vector<json> pages;
  for (ProfilePages writer(profile); !writer.is_done();) pages.push_back(writer.next());
  return pages;
}

TEST(ProfilePages, RoundTripInMessagesThatFitTheChannel) {
  const Profile profile = long_profile();
  ProfileReader reader(1000);
  bool is_last = false;
  for (const json& page : pages_of(profile)) {
    EXPECT_FALSE(is_last);
    EXPECT_LT(page.dump().size() + 100, kMaxMessageBytes);
    const auto added = reader.add(page);
    ASSERT_TRUE(added.is_ok()) << added.status().to_string();
    is_last = *added;
  }
  EXPECT_TRUE(is_last);
  const Profile read = reader.take();
  EXPECT_EQ(read.start_ns, 1000);
  EXPECT_EQ(read.duration_ns, 5000);
  EXPECT_EQ(read.num_dropped, 3);
  EXPECT_EQ(read.names, profile.names);
  ASSERT_EQ(read.models.size(), 1U);
  EXPECT_EQ(read.models[0].name, "net");
  ASSERT_EQ(read.models[0].lanes.size(), 2U);
  EXPECT_EQ(read.models[0].lanes[0].cores.at(0).core, 1);
  ASSERT_EQ(read.spans.size(), 1000U);
  EXPECT_EQ(read.spans[999].start_ns, profile.spans[999].start_ns);
  EXPECT_EQ(read.spans[999].name, 99U);
}

TEST(ProfilePages, EmptyProfileIsOnePage) {
  const std::vector<json> pages = pages_of(Profile());
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(ProfileReader(1).add(pages[0]).value());
}

TEST(ProfilePages, HostileWorkersPagesAreRefused) {
  const json model = {{"name", "m"}, {"lanes", json::array()}};
  const json span = {0, 0, 0, 0, 1, 1, 1, 0};
  const auto read = [&](json changed, std::int64_t max_spans = 10) {
    json page = {
        {"models", {model}}, {"names", json::array()}, {"spans", {span}}, {"is_last", true}};
    if (!changed.is_null()) page.update(changed);
    return ProfileReader(max_spans).add(page).is_ok();
  };
  EXPECT_TRUE(read({}));
  EXPECT_FALSE(read({}, 0)) << "more spans than were asked for";
  EXPECT_FALSE(read({{"models", json::array()}})) << "a span of no model";
  EXPECT_FALSE(read({{"models", 3}}));
  EXPECT_FALSE(read({{"is_last", 7}}));
  EXPECT_FALSE(read({{"spans", {{0, 0, 0}}}}));
  for (const auto& [place, value] : std::vector<std::pair<int, std::int64_t>>{
           {0, 6}, {1, 1}, {2, 1}, {3, 1}, {5, -1}, {6, -1}, {7, -1}}) {
    json bad = span;
    bad[static_cast<std::size_t>(place)] = value;
    EXPECT_FALSE(read({{"spans", {bad}}})) << place;
  }
  json operation = span;
  operation[0] = 5;
  EXPECT_FALSE(read({{"spans", {operation}}})) << "an operation without a name";
  EXPECT_FALSE(read({{"models", json::array()}, {"spans", json::array()}, {"is_last", false}}))
      << "pages without end";
}

}  // namespace
}  // namespace sluice::worker
