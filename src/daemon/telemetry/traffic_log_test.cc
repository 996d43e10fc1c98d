#include "daemon/telemetry/traffic_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "support/eventually.h"

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;

telemetry::RecordedRequest request(std::int64_t arrival_ns, std::size_t num_bytes) {
  return {arrival_ns, 0, "m", {{"x", 1, {}, std::string(num_bytes, 'x')}}};
}

class TrafficLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "traffic";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<TrafficLog>> create() {
    return TrafficLog::create(path_.string(), kMaxBytes, [](const Status&) {});
  }

  std::vector<telemetry::RecordedRequest> read() const {
    const auto text = read_text_file(path_);
    EXPECT_TRUE(text.is_ok());
    auto requests = telemetry::parse_traffic(*text);
    EXPECT_TRUE(requests.is_ok());
    return std::move(*requests);
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(TrafficLogTest, WritesWhatWaitsAtItsEndWithItsTimeOfArrival) {
  {
    auto log = create();
    ASSERT_TRUE(log.is_ok());
    const std::int64_t now_ns = testing::from_now_ns(std::chrono::nanoseconds(0));
    (*log)->add(request(now_ns + 700, 8));
    (*log)->add(request(now_ns, 4));  // came first, and took longer
  }
  const auto requests = read();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests.front().arrival_ns - requests.back().arrival_ns, 700);
  EXPECT_EQ(requests.back().inputs.front().bytes, "xxxx");
}

TEST_F(TrafficLogTest, EndsWhereTheFileIsAsLargeAsItMayBe) {
  constexpr std::int64_t kFew = 10'000;
  const auto one_bytes = std::ssize(telemetry::to_bytes(request(0, 16)));
  std::vector<Status> ends;
  {
    auto log = TrafficLog::create(path_.string(), kFew,
                                  [&](const Status& status) { ends.push_back(status); });
    ASSERT_TRUE(log.is_ok());
    for (std::int64_t i = 0; i <= kFew / one_bytes; ++i) (*log)->add(request(i, 16));
    EXPECT_TRUE(testing::eventually([&] { return !(*log)->room_for(16).is_ok(); }));
  }
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_TRUE(ends.front().is_ok());
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_));
  EXPECT_LE(size, kFew);
  EXPECT_GT(size, kFew - one_bytes);
  EXPECT_EQ(std::ssize(read()), (kFew - std::ssize(telemetry::kTrafficMagic)) / one_bytes);
}

TEST_F(TrafficLogTest, HoldsInputsUpToALimit) {
  constexpr std::int64_t kBytes = std::int64_t{100} << 20;
  auto log = create();
  ASSERT_TRUE(log.is_ok());
  auto first = (*log)->room_for(kBytes), second = (*log)->room_for(kBytes);
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  EXPECT_EQ((*log)->room_for(kBytes).status().code(), Code::kResourceExhausted);
  *first = ByteCharge();
  EXPECT_TRUE((*log)->room_for(kBytes).is_ok()) << "of a request that was not recorded";
  *second = ByteCharge();
  EXPECT_TRUE((*log)->room_for(std::int64_t{1} << 30).is_ok()) << "alone";
}

TEST_F(TrafficLogTest, TakesMemoryUntilRequestsAreWritten) {
  constexpr std::int64_t kAll = std::int64_t{256} << 20;
  auto log = create();
  ASSERT_TRUE(log.is_ok());
  auto room = (*log)->room_for(kAll);
  ASSERT_TRUE(room.is_ok());
  auto one = request(0, 16);
  one.charge = std::move(*room);
  (*log)->add(std::move(one));
  EXPECT_TRUE(testing::eventually([&] { return (*log)->room_for(kAll).is_ok(); }));
}

TEST_F(TrafficLogTest, LeavesARecordingAloneThatCannotBeRenamed) {
  std::ofstream(path_) << "earlier";
  std::filesystem::create_directories(folder_ / "traffic.old" / "full");
  const auto log = create();
  ASSERT_FALSE(log.is_ok());
  EXPECT_EQ(log.status().code(), Code::kUnavailable);
  EXPECT_THAT(log.status().message(), HasSubstr("traffic.old"));
  const auto text = read_text_file(path_);
  ASSERT_TRUE(text.is_ok());
  EXPECT_EQ(*text, "earlier");
}

}  // namespace
}  // namespace sluice::daemon
