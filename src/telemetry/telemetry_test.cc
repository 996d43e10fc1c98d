#include "telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "telemetry/traffic_file.h"

namespace sluice::telemetry {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr std::string_view kNotSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class TelemetryTest : public ::testing::Test {
 protected:
  void collect_spans() {
    telemetry_->set_span_sink([this](auto record) { spans_.push_back(std::move(record)); });
  }
  void collect_lines() {
    telemetry_->set_access_sink([this](auto record) { lines_.push_back(std::move(record)); });
  }
  /// A request to model "m" that is answered.
  bool serve(const Origin& origin, std::int64_t version = 1) {
    const auto observation = telemetry_->begin(origin);
    if (observation == nullptr) return false;
    observation->set_model("m", version);
    observation->submitted(8, 100);
    observation->answered(ok_status(), {}, 4);
    return true;
  }

  const std::shared_ptr<Telemetry> telemetry_ = std::make_shared<Telemetry>();
  std::vector<std::shared_ptr<const RequestRecord>> spans_;
  std::vector<std::shared_ptr<const RequestRecord>> lines_;
};

TEST_F(TelemetryTest, NobodyObservesWithoutASink) {
  telemetry_->set_trace_settings({.rate = 1});
  EXPECT_FALSE(serve({.door = "http", .traceparent = kSampled}));
}

TEST_F(TelemetryTest, FollowsTheCallersDecisionBeforeTheRate) {
  collect_spans();
  telemetry_->set_trace_settings({.rate = 0});
  EXPECT_FALSE(serve({.door = "http"}));
  EXPECT_TRUE(serve({.door = "http", .traceparent = kSampled}));
  telemetry_->set_trace_settings({.rate = 1});
  EXPECT_FALSE(serve({.door = "http", .traceparent = kNotSampled}));
  EXPECT_TRUE(serve({.door = "http"}));
  EXPECT_THAT(spans_, SizeIs(2));
}

TEST_F(TelemetryTest, KeepsTheCallersTraceAndMakesASpanBelowTheCallers) {
  collect_spans();
  ASSERT_TRUE(serve({.door = "ring", .traceparent = kSampled, .tracestate = "a=1,b=2"}));
  ASSERT_THAT(spans_, SizeIs(1));
  const RequestRecord& record = *spans_.front();
  EXPECT_EQ(terms::to_hex(record.trace.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  ASSERT_TRUE(record.parent.has_value());
  EXPECT_EQ(terms::to_hex(*record.parent), "00f067aa0ba902b7");
  EXPECT_NE(record.trace.span, *record.parent);
  EXPECT_EQ(record.tracestate, "a=1,b=2");
  EXPECT_EQ(record.bytes_in, 8);
  EXPECT_EQ(record.bytes_out, 4);
}

TEST_F(TelemetryTest, TracesASlowRequestThatNobodyChose) {
  collect_spans();
  telemetry_->set_trace_settings({.slower_than_ns = 1});
  EXPECT_TRUE(serve({.door = "http", .traceparent = kNotSampled}));
  EXPECT_THAT(spans_, SizeIs(1));
  telemetry_->set_trace_settings({.slower_than_ns = std::int64_t{1} << 60});
  EXPECT_TRUE(serve({.door = "http"}));
  EXPECT_THAT(spans_, SizeIs(1));
}

TEST_F(TelemetryTest, TurnsOffWhileItRuns) {
  collect_spans();
  telemetry_->set_trace_settings({.is_on = false, .rate = 1, .slower_than_ns = 1});
  EXPECT_FALSE(serve({.door = "http", .traceparent = kSampled}));
  EXPECT_FALSE(telemetry_->trace_settings().is_on);
}

TEST_F(TelemetryTest, LogsEveryRequestAndTracesNoneThatReachedNoModel) {
  collect_spans();
  collect_lines();
  telemetry_->set_trace_settings({.rate = 1});
  telemetry_->begin({.door = "http"})->fail(make_error(Code::kNotFound, "no model \"x\""));
  EXPECT_THAT(spans_, IsEmpty());
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(lines_.front()->code, Code::kNotFound);
}

TEST_F(TelemetryTest, TakesARequestIdAndMakesOneInsteadOfABadOne) {
  collect_lines();
  EXPECT_EQ(telemetry_->begin({.door = "http", .request_id = "a-7"})->request_id(), "a-7");
  for (const std::string& bad : {std::string(), std::string(129, 'a'), std::string("a\r\nb")}) {
    const std::string made = telemetry_->begin({.door = "http", .request_id = bad})->request_id();
    EXPECT_EQ(made.size(), 32U) << bad;
  }
}

TEST_F(TelemetryTest, KeepsTheStartOfALongPath) {
  collect_lines();
  telemetry_->begin({.door = "http"})->set_call("GET /" + std::string(9000, 'a'));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(lines_.front()->call, "GET /" + std::string(512 - 5, 'a'));
}

TEST_F(TelemetryTest, HasACodeForEachStatusOfHttp) {
  collect_lines();
  const std::vector<std::pair<int, Code>> expected = {{200, Code::kOk},
                                                      {404, Code::kNotFound},
                                                      {408, Code::kDeadlineExceeded},
                                                      {409, Code::kAlreadyExists},
                                                      {413, Code::kInvalidArgument},
                                                      {421, Code::kInvalidArgument},
                                                      {499, Code::kCancelled},
                                                      {500, Code::kUnknown},
                                                      {502, Code::kUnavailable}};
  for (const auto& [status, code] : expected) {
    telemetry_->begin({.door = "http"})->set_http_reply(status, 0, 0);
    EXPECT_EQ(lines_.back()->code, code) << status;
  }
}

/// A request with `num_inputs` inputs of four bytes.
TEST_F(TelemetryTest, KeepsTheLatestTraceOfEachVersion) {
  collect_spans();
  EXPECT_TRUE(serve({.door = "http", .traceparent = kSampled}, 1));
  telemetry_->set_trace_settings({.rate = 1});
  EXPECT_TRUE(serve({.door = "http"}, 2));
  const Exemplars kept = telemetry_->exemplars();
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_EQ(kept.at({"m", 1}).trace, spans_.at(0)->trace.trace);
  EXPECT_EQ(kept.at({"m", 2}).trace, spans_.at(1)->trace.trace);
}

void record_inputs(Telemetry& telemetry, std::size_t num_inputs) {
  float value = 1;
  terms::TensorSpec spec;
  spec.name = "x";
  terms::Signature signature;
  signature.inputs.assign(num_inputs, spec);
  terms::TensorView view;
  view.data = &value;
  view.size_bytes = sizeof(value);
  const std::vector<terms::TensorView> inputs(num_inputs, view);
  const auto observation = telemetry.begin({.door = "http"});
  observation->set_model("m", 1);
  observation->keep_inputs(signature, inputs, 3);
}

TEST_F(TelemetryTest, GivesInputsToTheRecordingAlone) {
  collect_lines();
  std::vector<RecordedRequest> recorded;
  telemetry_->set_traffic_sink([&](auto request) { recorded.push_back(std::move(request)); },
                               [](std::int64_t) { return ByteCharge(); });
  record_inputs(*telemetry_, 2);
  ASSERT_THAT(recorded, SizeIs(1));
  EXPECT_EQ(recorded.front().model, "m");
  EXPECT_EQ(recorded.front().priority, 3);
  EXPECT_THAT(recorded.front().inputs, SizeIs(2));
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_.front()->inputs, IsEmpty());
}

TEST_F(TelemetryTest, RecordsNoRequestThatAReaderWouldRefuse) {
  std::vector<RecordedRequest> recorded;
  telemetry_->set_traffic_sink([&](auto request) { recorded.push_back(std::move(request)); },
                               [](std::int64_t) { return ByteCharge(); });
  record_inputs(*telemetry_, kMaxRecordedInputs + 1);
  EXPECT_THAT(recorded, IsEmpty());
  record_inputs(*telemetry_, kMaxRecordedInputs);
  ASSERT_THAT(recorded, SizeIs(1));
  EXPECT_TRUE(parse_traffic(std::string(kTrafficMagic) + to_bytes(recorded.front())).is_ok());
}

}  // namespace
}  // namespace sluice::telemetry
