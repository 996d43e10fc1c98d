#include "telemetry/otlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::telemetry {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMessageBytes = 1 << 20;

std::shared_ptr<RequestRecord> answered_record() {
  auto record = std::make_shared<RequestRecord>();
  record->model = "m";
  record->code = Code::kOk;
  record->submitted_ns = 10;
  record->answered_ns = 90;
  record->end_ns = 100;
  record->detail.backends = {"cpu"};
  record->detail.stages = {{terms::StageKind::kCopyIn, 0, 20, 5},
                           {terms::StageKind::kCompute, 0, 25, 50},
                           {terms::StageKind::kCopyOut, 0, 75, 5}};
  return record;
}

std::int64_t num_spans(const std::shared_ptr<RequestRecord>& record) {
  const std::vector<std::shared_ptr<const RequestRecord>> records = {record};
  return to_otlp(records, "1", kMessageBytes).num_spans;
}

TEST(Otlp, WritesASpanForEachStageBetweenQueueAndReply) {
  EXPECT_EQ(num_spans(answered_record()), 6);
  const std::vector<std::shared_ptr<const RequestRecord>> records = {answered_record()};
  const std::string request = to_otlp(records, "1", kMessageBytes).request;
  for (const char* name : {"infer m", "queue", "copy in", "segment 0", "copy out", "reply"}) {
    EXPECT_THAT(request, HasSubstr(name));
  }
}

TEST(Otlp, PutsTheStagesOfAJoinedRunUnderABatch) {
  auto record = answered_record();
  record->detail.is_joined = true;
  EXPECT_EQ(num_spans(record), 7);
}

TEST(Otlp, WritesOneSpanForTheSumsOfAWorker) {
  auto record = answered_record();
  record->detail.stages.clear();
  record->detail.compute_ns = 50;
  EXPECT_EQ(num_spans(record), 4);  // with the request, the queue and the reply
}

TEST(Otlp, WritesNoStagesOfAnErrorThatHasNoTimes) {
  auto record = answered_record();
  record->detail = {};
  record->code = Code::kInvalidArgument;
  EXPECT_EQ(num_spans(record), 2);  // the request and the reply
}

TEST(Otlp, WritesTheRequestAloneIfNoModelAnsweredIt) {
  auto record = answered_record();
  record->answered_ns = 0;
  record->code = Code::kResourceExhausted;
  EXPECT_EQ(num_spans(record), 1);
}

TEST(Otlp, EndsAMessageByItsBytes) {
  auto record = answered_record();
  record->tracestate = std::string(512, 'a');
  const std::vector<std::shared_ptr<const RequestRecord>> records(512, record);
  const SpanBatch first = to_otlp(records, "1", kMessageBytes);
  EXPECT_GT(first.num_requests, 1U);
  EXPECT_LT(first.num_requests, records.size());
  EXPECT_EQ(first.num_spans, 6 * static_cast<std::int64_t>(first.num_requests));
  EXPECT_GE(first.request.size(), kMessageBytes);
  EXPECT_LT(first.request.size(), 2 * kMessageBytes);
  EXPECT_EQ(to_otlp(records, "1", 1).num_requests, 1U);
}

}  // namespace
}  // namespace sluice::telemetry
