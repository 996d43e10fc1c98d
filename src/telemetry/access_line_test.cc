#include "telemetry/access_line.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::telemetry {
namespace {

RequestRecord answered_line() {
  RequestRecord record;
  record.id = "a-7";
  record.door = "http";
  record.user = "token bench";
  record.call = "POST /v2/models/m/infer";
  record.model = "m";
  record.code = Code::kOk;
  record.http_status = 200;
  record.bytes_in = 64;
  record.bytes_out = 32;
  record.start_ns = 1000;
  record.submitted_ns = 1500;
  record.answered_ns = 4000;
  record.end_ns = 5000;
  record.wall_offset_ns = 1'700'000'000'000'000'000;
  record.detail.queue_ns = 700;
  return record;
}

TEST(AccessLine, SaysWhoAskedWhatAndHowLongItTook) {
  const std::string line = access_line(answered_line());
  ASSERT_EQ(line.back(), '\n');
  ASSERT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.000001Z");
  EXPECT_EQ(json["request_id"], "a-7");
  EXPECT_EQ(json["user"], "token bench");
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["status"], "ok");
  EXPECT_EQ(json["http_status"], 200);
  EXPECT_EQ(json["total_ns"], 4000);
  EXPECT_EQ(json["read_ns"], 500);
  EXPECT_EQ(json["queue_ns"], 700);
  EXPECT_EQ(json["reply_ns"], 1000);
}

TEST(AccessLine, LeavesOutWhatARefusedRequestLacks) {
  RequestRecord record = answered_line();
  record.user.clear();
  record.http_status = 0;
  record.submitted_ns = 0;
  record.answered_ns = 0;
  record.code = Code::kUnauthenticated;
  record.message = "no token";
  const auto json = nlohmann::json::parse(access_line(record));
  EXPECT_EQ(json["status"], "unauthenticated");
  EXPECT_EQ(json["error"], "no token");
  EXPECT_FALSE(json.contains("user"));
  EXPECT_FALSE(json.contains("http_status"));
  for (const char* stage : {"read_ns", "queue_ns", "reply_ns"}) EXPECT_FALSE(json.contains(stage));
}

TEST(AccessLine, StaysOneLineWhateverAClientCallsItsModel) {
  RequestRecord record = answered_line();
  record.call = "GET /v2/\n{\"status\":\"ok\"}\xff";
  const std::string line = access_line(record);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(AccessLine, FitsInAPipeWhateverAClientSends) {
  RequestRecord record = answered_line();
  record.id = std::string(128, '"');
  record.user = record.call = record.model = record.message = std::string(5000, '\x01');
  const std::string line = access_line(record);
  EXPECT_LE(line.size(), kMaxLineBytes);
  ASSERT_EQ(line.back(), '\n');
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["request_id"], record.id);
  EXPECT_FALSE(json["call"].get<std::string>().empty());
  EXPECT_EQ(json["total_ns"], 4000);
}

}  // namespace
}  // namespace sluice::telemetry
