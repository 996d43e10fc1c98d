// Profiles over the protocol: owner, end, and transfer in parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/profile_messages.h"
#include "runtime/inference/thread_driver.h"
#include "support/eventually.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using terms::Profile;
using terms::ProfileSpan;
using terms::SpanKind;
using ::testing::HasSubstr;

class ProfileTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  ProfileTest() : ServingTest({}) { client_ = connect(); }
  ~ProfileTest() override { stop(); }

  std::unique_ptr<client::Client> connect() const {
    return client::Client::create({.address = address()}).value();
  }
  std::uint64_t load() { return client_->load({}, package_).value().info.handle; }
  void infer(std::uint64_t model, int count) {
    std::vector<float> x(4);
    for (int i = 0; i < count; ++i) {
      const auto reply = client_->infer(model, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}});
      EXPECT_TRUE(reply.is_ok()) << reply.status().to_string();
    }
  }

  std::unique_ptr<client::Client> client_;
};

std::int64_t count_of(const Profile& profile, SpanKind kind) {
  return std::ranges::count(profile.spans, kind, &ProfileSpan::kind);
}

TEST_F(ProfileTest, ProfileRecordsRequestsOfItsInterval) {
  const std::uint64_t model = load();
  infer(model, 2);
  const auto id = client_->start_profile({});
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  infer(model, 3);
  const auto profile = client_->stop_profile(*id);
  ASSERT_TRUE(profile.is_ok()) << profile.status().to_string();
  infer(model, 1);
  EXPECT_EQ(count_of(*profile, SpanKind::kRequest), 3);
  EXPECT_EQ(count_of(*profile, SpanKind::kCompute), 3);
  EXPECT_GE(count_of(*profile, SpanKind::kOperation), 3);
  ASSERT_EQ(profile->models.size(), 1U);
  EXPECT_EQ(profile->models[0].name, "m");
  EXPECT_EQ(profile->models[0].lanes.at(0).cores.size(), 1U);
  EXPECT_EQ(client_->stop_profile(*id).status().code(), Code::kNotFound);
}

TEST_F(ProfileTest, ProfileBelongsToItsSessionAndEndsWithIt) {
  auto owner = connect();
  ASSERT_TRUE(owner->open_session("owner").is_ok());
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < runtime::Profiler::kMaxProfiles; ++i) {
    last = owner->start_profile({}).value();
  }
  const auto refused = client_->start_profile({});
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("stop one of 1, 2, 3, 4"));
  EXPECT_EQ(client_->stop_profile(last).status().code(), Code::kPermissionDenied);
  owner = nullptr;
  Result<std::uint64_t> mine = refused.status();
  const auto starts = [&] { return (mine = client_->start_profile({})).is_ok(); };
  ASSERT_TRUE(eventually(starts)) << mine.status().to_string();  // the end of a session takes time
  EXPECT_EQ(client_->stop_profile(last).status().code(), Code::kNotFound);
  EXPECT_TRUE(client_->stop_profile(*mine).is_ok());
}

TEST_F(ProfileTest, InvalidProfileOptionsAreRefused) {
  terms::ProfileSettings settings;
  settings.max_spans = -1;
  EXPECT_EQ(client_->start_profile(settings).status().code(), Code::kInvalidArgument);
  settings = {};
  settings.limit_ns = INT64_MIN;
  EXPECT_EQ(client_->start_profile(settings).status().code(), Code::kInvalidArgument);
  settings = {};
  settings.model = terms::ModelHandle(~std::uint64_t{0});
  EXPECT_EQ(client_->start_profile(settings).status().code(), Code::kNotFound);
}

TEST(ProfileMessages, LongProfileIsSplitAndReassembled) {
  Profile profile;
  profile.num_dropped = 7;
  profile.start_ns = 100;
  profile.duration_ns = 200;
  for (std::uint32_t i = 0; i < 200; ++i) {
    profile.models.push_back({"m" + std::to_string(i), i, {{{}, {{terms::DeviceId(1), 3}}}}});
  }
  for (int i = 0; i < 3000; ++i) profile.names.push_back("\xff op " + std::to_string(i));
  for (std::uint32_t i = 0; i < 20000; ++i) {
    profile.spans.push_back({SpanKind::kOperation, i % 200, 0, i % 3000, i, i, 5});
  }
  wire::ProfileParts parts(profile);
  Profile whole;
  v1::StopProfileResponse part;
  int num_parts = 0;
  for (; parts.next(part); part.Clear()) {
    ++num_parts;
    EXPECT_LT(part.ByteSizeLong(), 1U << 19);
    std::string bytes;
    ASSERT_TRUE(part.SerializeToString(&bytes));
    v1::StopProfileResponse read;
    ASSERT_TRUE(read.ParseFromString(bytes)) << "names need not be UTF-8";
    ASSERT_TRUE(wire::add_part(read, whole).is_ok());
  }
  EXPECT_GE(num_parts, 3);
  EXPECT_TRUE(wire::check_profile(whole).is_ok());
  EXPECT_EQ(whole.num_dropped, 7);
  EXPECT_EQ(whole.start_ns, 100);
  EXPECT_EQ(whole.duration_ns, 200);
  EXPECT_EQ(whole.names, profile.names);
  ASSERT_EQ(whole.models.size(), 200U);
  EXPECT_EQ(whole.models[199].lanes.at(0).cores.at(0).core, 3);
  ASSERT_EQ(whole.spans.size(), 20000U);
  EXPECT_EQ(whole.spans[19999].start_ns, 19999);
  EXPECT_EQ(whole.spans[19999].name, 19999U % 3000);
}

TEST(ProfileMessages, SpanWithDanglingIndexIsRefused) {
  Profile profile;
  profile.spans.push_back({});
  EXPECT_EQ(wire::check_profile(profile).code(), Code::kDataLoss);
  profile.models.emplace_back();
  EXPECT_TRUE(wire::check_profile(profile).is_ok());
  profile.spans[0].kind = SpanKind::kCompute;
  EXPECT_EQ(wire::check_profile(profile).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace sluice::rpc
