#include "daemon/telemetry/traffic_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"

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

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(TrafficLogTest, WritesWhatWaitsAtItsEnd) {
  {
    auto log = create();
    ASSERT_TRUE(log.is_ok());
    (*log)->add(request(1000, 8));
    (*log)->add(request(1700, 4));
  }
  const auto text = read_text_file(path_);
  ASSERT_TRUE(text.is_ok());
  const auto read = telemetry::parse_traffic(*text);
  ASSERT_TRUE(read.is_ok());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->front().arrival_ns, 0);
  EXPECT_EQ(read->back().arrival_ns, 700);
  EXPECT_EQ(read->back().inputs.front().bytes, "xxxx");
}

TEST_F(TrafficLogTest, TakesNoMoreThanMayWait) {
  constexpr std::size_t kBytes = std::size_t{40} << 20;
  auto log = create();
  ASSERT_TRUE(log.is_ok());
  bool is_refused = false;
  // The thread writes a second later: a machine that stands still for so long may write in between.
  for (int i = 0; i < 100 && !is_refused; ++i) {
    (*log)->add(request(i, kBytes));
    is_refused = !(*log)->takes(kBytes);
  }
  EXPECT_TRUE(is_refused);
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
