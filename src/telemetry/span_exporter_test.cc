#include "telemetry/span_exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "support/eventually.h"

namespace sluice::telemetry {
namespace {

using sluice::testing::eventually;

/// Wakes the thread for the whole batch alone.
constexpr BatchLimits kLimits = {
    .batch = 64, .interval = std::chrono::hours(1), .patience = std::chrono::milliseconds(1)};

std::shared_ptr<RequestRecord> large_record() {
  auto record = std::make_shared<RequestRecord>();
  record->model = std::string(std::size_t{100} << 10, 'm');
  return record;
}

void add_batch(SpanExporter& exporter) {
  for (std::size_t i = 0; i < kLimits.batch; ++i) exporter.add(large_record());
}

TEST(SpanExporter, LosesTheRestOfABatchAfterAMessageThatFailed) {
  std::atomic<int> num_sent = 0;
  std::atomic<int> num_changes = 0;
  const auto send = [&](const std::string&, const std::stop_token&) {
    ++num_sent;
    return make_error(Code::kDeadlineExceeded, "late");
  };
  const auto on_change = [&](const Status& status) {
    EXPECT_FALSE(status.is_ok());
    ++num_changes;
  };
  auto exporter = SpanExporter::start(send, "1", on_change, kLimits);
  ASSERT_TRUE(exporter.is_ok());
  add_batch(**exporter);
  EXPECT_TRUE(
      eventually([&] { return std::cmp_equal((*exporter)->counts().lost_spans, kLimits.batch); }));
  EXPECT_EQ((*exporter)->counts().sent_spans, 0);
  exporter->reset();
  EXPECT_EQ(num_sent, 1);
  EXPECT_EQ(num_changes, 1);
}

TEST(SpanExporter, TriesTheNextBatchAgain) {
  std::atomic<int> num_sent = 0;
  const auto send = [&](const std::string&, const std::stop_token&) {
    return num_sent++ == 0 ? make_error(Code::kUnavailable, "gone") : ok_status();
  };
  auto exporter = SpanExporter::start(
      send, "1", [](const Status&) {}, kLimits);
  ASSERT_TRUE(exporter.is_ok());
  const auto num_batch = static_cast<std::int64_t>(kLimits.batch);
  add_batch(**exporter);
  EXPECT_TRUE(eventually([&] { return (*exporter)->counts().lost_spans == num_batch; }));
  add_batch(**exporter);
  EXPECT_TRUE(eventually([&] { return (*exporter)->counts().sent_spans == num_batch; }));
  EXPECT_EQ((*exporter)->counts().lost_spans, num_batch);
}

TEST(SpanExporter, EndsThoughTheCollectorAnswersNothing) {
  std::atomic<int> num_sent = 0;
  const auto send = [&](const std::string&, const std::stop_token& stop) {
    ++num_sent;
    std::mutex mutex;
    std::condition_variable_any silence;
    std::unique_lock lock(mutex);
    silence.wait(lock, stop, [] { return false; });
    return make_error(Code::kDeadlineExceeded, "stopped");
  };
  auto exporter = SpanExporter::start(
      send, "1", [](const Status&) {}, kLimits);
  ASSERT_TRUE(exporter.is_ok());
  add_batch(**exporter);
  EXPECT_TRUE(eventually([&] { return num_sent > 0; }));
  (*exporter)->add(large_record());
  exporter->reset();
  EXPECT_EQ(num_sent, 1);
}

}  // namespace
}  // namespace sluice::telemetry
