// Requests in flight at a suspended worker process: the requests that the daemon accepts and the
// codes of their ends. No request of a suspended worker ends by itself. The worker computes on a
// processor.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "daemon/on_processors.h"
#include "support/eventually.h"
#include "support/process.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

/// A model in a worker process, which is suspended, and a stream of requests to it.
class SuspendedWorker : public OnProcessors {
 protected:
  SuspendedWorker()
      : daemon_(start("a", 0, 64 * kMiB, {"--worker-silence", "600"})), client_(daemon_->client()) {
    terms::LoadOptions options;
    options.isolation = terms::Isolation::kProcess;
    options.depth = kDepth;
    const auto model = client_->load(options, small_);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    if (!model.is_ok()) return;
    model_ = model->info.handle;
    worker_ = static_cast<pid_t>(client_->list_groups()->front().info.worker.process);
    EXPECT_TRUE(suspend(worker_));
    stream_ = std::move(client_->open_stream()).value();
  }
  void send(std::uint64_t id, float value, const rpc::client::InferOptions& options = {}) {
    std::vector<float> x(4, value);
    const Status status = stream_->send(id, model_, input_x(x), options);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    std::ranges::fill(x, -99.0F);  // the request has its own copy by now
  }
  terms::ModelStatistics statistics() { return client_->statistics(model_)->front(); }
  void wait_until_accepted(std::int64_t count) {
    EXPECT_TRUE(eventually([&] { return statistics().accepted >= count; }));
  }
  /// The next answer's id and code.
  std::pair<std::uint64_t, RuntimeCode> next_code() {
    const auto answer = stream_->next();
    if (!answer.is_ok() || !answer->has_value()) return {0, RuntimeCode::kOk};
    const Result<rpc::client::InferReply>& reply = (*answer)->reply;
    return {(*answer)->id, reply.is_ok() ? reply->code : terms::runtime_code_of(reply.status())};
  }

  static constexpr int kDepth = 3;
  std::unique_ptr<RunningDaemon> daemon_;
  std::unique_ptr<rpc::client::Client> client_;
  std::uint64_t model_ = 0;
  pid_t worker_ = -1;
  std::unique_ptr<rpc::client::InferStream> stream_;
};

TEST_F(SuspendedWorker, NextInputsAreTakenBeforeTheFirstRequestIsDone) {
  for (std::uint64_t id = 1; id <= kDepth; ++id) send(id, static_cast<float>(id));
  wait_until_accepted(kDepth);
  EXPECT_TRUE(statistics().answered.empty()) << "no request is done";
  ASSERT_EQ(kill(worker_, SIGCONT), 0);
  std::map<std::uint64_t, std::vector<float>> answers;
  for (int i = 0; i < kDepth; ++i) {
    const auto answer = stream_->next();
    ASSERT_TRUE(answer.is_ok() && answer->has_value());
    const auto& reply = (*answer)->reply;
    ASSERT_TRUE(reply.is_ok()) << reply.status().to_string();
    const auto* y = static_cast<const float*>(reply->outputs.at(0).view.data);
    answers[(*answer)->id] = {y, y + 4};
  }
  const std::map<std::uint64_t, std::vector<float>> expected = {
      {1, {2, 0, 4, 0}}, {2, {3, 0, 5, 0}}, {3, {4, 1, 6, 0}}};
  EXPECT_EQ(answers, expected) << "each of the inputs that were sent under its id";
}

TEST_F(SuspendedWorker, RequestsInFlightHaveTheCodeOfTheirEnd) {
  send(1, 1);
  send(2, 1);
  send(3, 1, {.timeout_ns = 20'000'000});
  EXPECT_EQ(next_code(), std::pair(std::uint64_t{3}, RuntimeCode::kTimeout));
  ASSERT_TRUE(stream_->cancel(2).is_ok());
  EXPECT_EQ(next_code(), std::pair(std::uint64_t{2}, RuntimeCode::kCancelled));
  ASSERT_EQ(kill(worker_, SIGKILL), 0);
  EXPECT_EQ(next_code(), std::pair(std::uint64_t{1}, RuntimeCode::kDeviceError));
}

TEST_F(SuspendedWorker, RequestsBeyondTheQueueAreRefused) {
  constexpr std::uint64_t kMany = 240;  // more than the depth and any line before it
  for (std::uint64_t id = 1; id <= kMany; ++id) send(id, 1);
  EXPECT_EQ(next_code().second, RuntimeCode::kQueueFull);
  ASSERT_EQ(kill(worker_, SIGCONT), 0);
  std::set<std::uint64_t> answered;
  bool all_known = true;
  for (std::uint64_t i = 1; i < kMany; ++i) {
    const auto [id, code] = next_code();
    answered.insert(id);
    all_known &= code == RuntimeCode::kOk || code == RuntimeCode::kQueueFull;
  }
  EXPECT_TRUE(all_known);
  EXPECT_EQ(answered.size(), kMany - 1) << "each has one answer";
}

}  // namespace
}  // namespace sluice::testing
