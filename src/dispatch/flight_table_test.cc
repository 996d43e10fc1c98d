#include "dispatch/flight_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::dispatch {
namespace {

using runtime::Reply;
using runtime::Request;

/// Keeps requests until `answer`, or answers while somebody waits.
class FakeSink final : public runtime::RequestSink {
 public:
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(Request& request) override {
    if (refusal) return *refusal;
    requests.push_back(std::move(request));
    if (on_submitted) on_submitted();
    return requests.size();
  }
  void refused(const Request& /*request*/) override { ++num_refused; }
  bool cancel(std::uint64_t id) override {
    cancelled.push_back(id);
    return true;
  }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    ++num_waits;
    answer(requests.size() - 1);
    return is_done();
  }
  void tell_waiters() override {}

  /// Lets go of `on_done`: it shares the model, which shares this sink.
  void answer(std::size_t i, RuntimeCode code = RuntimeCode::kOk) {
    std::exchange(requests[i].on_done, nullptr)(Reply{code, {}, {}, {}});
  }

  std::optional<Status> refusal;
  std::function<void()> on_submitted;
  std::vector<Request> requests;
  std::vector<std::uint64_t> cancelled;
  int num_waits = 0;
  int num_refused = 0;

 private:
  terms::Signature signature_;
};

class FlightTableTest : public ::testing::Test {
 protected:
  explicit FlightTableTest(bool is_remote = false)
      : model_(std::make_shared<ModelRef>(sink_, std::vector<bool>{true}, is_remote)) {}

  Status post(std::uint64_t id, RequestLimits limits = {}) {
    Request request;
    request.on_done = [this](const Reply& reply) { codes_.push_back(reply.code); };
    return table_.post(table_.enter(id, model_, false), request, std::move(limits));
  }

  const std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  const std::shared_ptr<ModelRef> model_;
  FlightTable table_;
  std::vector<RuntimeCode> codes_;
};

TEST_F(FlightTableTest, PostedRequestIsAnsweredOnceAndLeavesTheTable) {
  ASSERT_TRUE(post(7).is_ok());
  EXPECT_TRUE(table_.contains(7));
  EXPECT_TRUE(codes_.empty());
  sink_->answer(0);
  EXPECT_EQ(codes_, std::vector{RuntimeCode::kOk});
  EXPECT_FALSE(table_.contains(7));
}

TEST_F(FlightTableTest, PriorityIsAtMostThatOfTheClientsLimits) {
  for (const std::int32_t priority : {-2, 7}) {
    Request request;
    request.priority = priority;
    request.on_done = [](const Reply&) {};
    const RequestLimits limits{nullptr, 0, /*max_priority=*/3};
    ASSERT_TRUE(
        table_.post(table_.enter(7 + sink_->requests.size(), model_, false), request, limits)
            .is_ok());
    EXPECT_EQ(sink_->requests.back().priority, std::min(priority, 3));
  }
  sink_->answer(0);
  sink_->answer(1);
}

TEST_F(FlightTableTest, IdInFlightIsRefusedUntilItsAnswer) {
  ASSERT_TRUE(post(7).is_ok());
  EXPECT_EQ(table_.enter(7, model_, false), nullptr);
  sink_->answer(0);
  EXPECT_NE(table_.enter(7, model_, false), nullptr);
}

TEST_F(FlightTableTest, RequestThatIsNotSubmittedLeavesTheTable) {
  const auto flight = table_.enter(7, model_, false);
  table_.drop(*flight);
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_TRUE(codes_.empty());
}

TEST_F(FlightTableTest, RefusedRequestLeavesTheTableAndIsNotAnswered) {
  sink_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  const auto quota = std::make_shared<RequestQuota>(1);
  EXPECT_EQ(terms::runtime_code_of(post(7, {quota})), RuntimeCode::kQueueFull);
  EXPECT_FALSE(table_.contains(7));
  EXPECT_EQ(quota->num_in_flight(), 0);
  EXPECT_TRUE(codes_.empty());
}

TEST_F(FlightTableTest, RequestThatNoMemoryIsLeftForLeavesTheTableAndTheQuota) {
  sink_->on_submitted = [this] {
    sink_->requests.clear();
    throw std::bad_alloc();
  };
  const auto quota = std::make_shared<RequestQuota>(1);
  EXPECT_EQ(post(7, {quota}).code(), Code::kResourceExhausted);
  EXPECT_FALSE(table_.contains(7));
  EXPECT_EQ(quota->num_in_flight(), 0);
  EXPECT_TRUE(codes_.empty());
}

TEST_F(FlightTableTest, QuotaCountsARequestFromSubmissionToAnswer) {
  const auto quota = std::make_shared<RequestQuota>(1);
  ASSERT_TRUE(post(1, {quota}).is_ok());
  EXPECT_EQ(terms::runtime_code_of(post(2, {quota})), RuntimeCode::kQueueFull);
  EXPECT_EQ(sink_->requests.size(), 1U);
  EXPECT_EQ(sink_->num_refused, 1) << "the model hears of it";
  sink_->answer(0);
  EXPECT_EQ(quota->num_in_flight(), 0);
  EXPECT_TRUE(post(2, {quota}).is_ok());
  sink_->answer(1);
}

TEST_F(FlightTableTest, RequestsUnderOneQuotaKeepTheirOwnLimitsOfARun) {
  const auto quota = std::make_shared<RequestQuota>(8);
  ASSERT_TRUE(post(1, {quota, 5}).is_ok());
  ASSERT_TRUE(post(2, {quota}).is_ok());
  ASSERT_TRUE(post(3, {quota, 9}).is_ok());
  EXPECT_EQ(sink_->requests[0].max_run_ns, 5);
  EXPECT_EQ(sink_->requests[1].max_run_ns, 0);
  EXPECT_EQ(sink_->requests[2].max_run_ns, 9);
  for (std::size_t i = 0; i < 3; ++i) sink_->answer(i);
}

TEST_F(FlightTableTest, ClosedQuotaRefusesWithItsReason) {
  const auto quota = std::make_shared<RequestQuota>(8);
  quota->close(terms::runtime_error(RuntimeCode::kCancelled, "session 3 is closed"));
  EXPECT_EQ(terms::runtime_code_of(post(1, {quota})), RuntimeCode::kCancelled);
}

TEST_F(FlightTableTest, CancelReachesTheModelOnceTheRequestIsSubmitted) {
  ASSERT_TRUE(post(7).is_ok());
  table_.cancel(8);
  EXPECT_TRUE(sink_->cancelled.empty());
  table_.cancel(7);
  EXPECT_EQ(sink_->cancelled, std::vector<std::uint64_t>{1});
  sink_->answer(0, RuntimeCode::kCancelled);
}

TEST_F(FlightTableTest, CancelDuringSubmissionTakesEffectAfterIt) {
  sink_->on_submitted = [this] { table_.cancel(7); };
  ASSERT_TRUE(post(7).is_ok());
  EXPECT_EQ(sink_->cancelled, std::vector<std::uint64_t>{1});
  sink_->answer(0, RuntimeCode::kCancelled);
}

TEST_F(FlightTableTest, CancelAllReachesEveryRequest) {
  ASSERT_TRUE(post(1).is_ok());
  ASSERT_TRUE(post(2).is_ok());
  table_.cancel_all();
  EXPECT_EQ(sink_->cancelled, (std::vector<std::uint64_t>{1, 2}));
  sink_->answer(0, RuntimeCode::kCancelled);
  sink_->answer(1, RuntimeCode::kCancelled);
}

TEST_F(FlightTableTest, ShortRequestThatComesAloneIsComputedOnTheCallingThread) {
  EXPECT_FALSE(table_.enter(1, model_, true)->is_for_this_thread()) << "its latency is not known";
  table_.cancel_all();
  FlightTable table;
  model_->set_typical_ns(FlightTable::kShortNs - 1);
  const auto flight = table.enter(1, model_, true);
  ASSERT_TRUE(flight->is_for_this_thread());
  Request request;
  const auto reply = table.compute(flight, request, {});
  ASSERT_TRUE(reply.is_ok());
  EXPECT_EQ(reply->code, RuntimeCode::kOk);
  EXPECT_EQ(sink_->num_waits, 1);
  EXPECT_TRUE(sink_->requests[0].will_wait);
  EXPECT_FALSE(table.contains(1));
}

TEST_F(FlightTableTest, CallingThreadIsNotUsedForSeveralRequestsNorWhereItMayNot) {
  model_->set_typical_ns(1);
  EXPECT_FALSE(table_.enter(1, model_, false)->is_for_this_thread());
  EXPECT_FALSE(table_.enter(2, model_, true)->is_for_this_thread()) << "request 1 is in flight";
}

TEST_F(FlightTableTest, LongRequestIsComputedOnTheCallingThreadOnlyUpToTheLimit) {
  constexpr std::int64_t kMaxNs = 1'000'000;
  model_->set_typical_ns(kMaxNs - 1);
  EXPECT_FALSE(FlightTable().enter(model_, true)->is_for_this_thread());
  EXPECT_TRUE(FlightTable(kMaxNs).enter(model_, true)->is_for_this_thread());
  model_->set_typical_ns(kMaxNs);
  EXPECT_FALSE(FlightTable(kMaxNs).enter(model_, true)->is_for_this_thread());
}

TEST_F(FlightTableTest, BacklogSendsLongerRequestsElsewhereForAWhile) {
  constexpr std::int64_t kMaxNs = 1'000'000;
  FlightTable table(kMaxNs);
  model_->set_typical_ns(kMaxNs - 1);
  table.note_backlog();
  int num_elsewhere = 0;
  while (true) {
    const auto flight = table.enter(model_, true);
    model_->set_typical_ns(kMaxNs - 1);
    Request request;
    if (flight->is_for_this_thread()) break;
    request.on_done = [](const Reply&) {};
    ASSERT_TRUE(table.post(flight, request, {}).is_ok());
    sink_->answer(sink_->requests.size() - 1);
    model_->set_typical_ns(kMaxNs - 1);
    ASSERT_LT(++num_elsewhere, 1000);
  }
  EXPECT_EQ(num_elsewhere, 64);
}

TEST(FlightTable, RemoteModelIsNeverComputedOnTheCallingThread) {
  const auto model =
      std::make_shared<ModelRef>(std::make_shared<FakeSink>(), std::vector<bool>{}, true);
  model->set_typical_ns(1);
  EXPECT_FALSE(FlightTable().enter(model, true)->is_for_this_thread());
}

TEST_F(FlightTableTest, AnswerMayDestroyTheTable) {
  auto table = std::make_unique<FlightTable>();
  Request request;
  request.on_done = [&](const Reply&) { table = nullptr; };
  ASSERT_TRUE(table->post(table->enter(model_, false), request, {}).is_ok());
  sink_->answer(0);
  EXPECT_EQ(table, nullptr);
}

TEST_F(FlightTableTest, CancelAndAnswerFromManyThreadsGiveOneAnswerEach) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(post(1).is_ok());
    std::thread canceller([this] { table_.cancel(1); });
    sink_->answer(sink_->requests.size() - 1);
    canceller.join();
  }
  EXPECT_EQ(codes_.size(), static_cast<std::size_t>(kRounds));
}

}  // namespace
}  // namespace sluice::dispatch
