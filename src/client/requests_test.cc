#include "client/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "terms/runtime_code.h"

namespace sluice::client {
namespace {

using rpc::client::InferOptions;
using rpc::client::InferReply;
using rpc::client::InferStream;
using rpc::client::RingStream;
using rpc::client::StreamAnswer;
using terms::NamedTensor;
using ::testing::ElementsAre;

/// What happened, in order.
class Journal {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// A ring or a stream whose answers the test gives. A ring carries requests of no priority.
class FakeStream final : public RingStream {
 public:
  FakeStream(std::string name, Journal& journal) : name_(std::move(name)), journal_(journal) {}

  Status send(std::uint64_t id, std::uint64_t /*model*/, const std::vector<NamedTensor>& /*inputs*/,
              const InferOptions& /*options*/) override {
    journal_.add(name_ + " " + std::to_string(id));
    return ok_status();
  }
  bool try_send(std::uint64_t id, std::uint64_t model, const std::vector<NamedTensor>& inputs,
                const InferOptions& options) override {
    return options.priority == 0 && send(id, model, inputs, options).is_ok();
  }
  void wait_until_passed_on() override { journal_.add(name_ + " passes on"); }
  Status cancel(std::uint64_t id) override {
    journal_.add(name_ + " cancels " + std::to_string(id));
    return ok_status();
  }
  void close() override {}
  void abort() override { end(make_error(Code::kCancelled, "aborted")); }
  Result<std::optional<StreamAnswer>> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !answers_.empty() || !end_.is_ok(); });
    if (answers_.empty()) return end_;
    const std::uint64_t id = answers_.back();
    answers_.pop_back();
    return std::optional<StreamAnswer>({id, InferReply()});
  }

  void answer(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(id);
    changed_.notify_all();
  }
  void end(const Status& why) {
    const std::lock_guard lock(mutex_);
    end_ = why;
    changed_.notify_all();
  }

 private:
  const std::string name_;
  Journal& journal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> answers_;
  Status end_;
};

class RequestsTest : public ::testing::Test {
 protected:
  RequestsTest() {
    auto ring = std::make_unique<FakeStream>("ring", journal_);
    ring_ = ring.get();
    requests_ = std::make_unique<Requests>(
        std::move(ring),
        [this]() -> Result<std::unique_ptr<InferStream>> {
          auto stream = std::make_unique<FakeStream>("stream", journal_);
          stream_ = stream.get();
          return std::unique_ptr<InferStream>(std::move(stream));
        },
        /*limit=*/8);
  }
  ~RequestsTest() override { requests_->close(0); }

  std::uint64_t send(std::uint64_t model, bool fits_ring) {
    InferOptions options;
    options.priority = fits_ring ? 0 : 1;
    const auto id = requests_->send(model, {}, options, [this](Result<InferReply> reply) {
      const std::lock_guard lock(mutex_);
      statuses_.push_back(reply.status());
    });
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    return id.is_ok() ? *id : 0;
  }
  std::size_t num_answers() {
    const std::lock_guard lock(mutex_);
    return statuses_.size();
  }
  void wait_for_answers(std::size_t count) {
    requests_->wait([&] { return num_answers() >= count; }, -1);
  }

  Journal journal_;
  FakeStream* ring_ = nullptr;
  FakeStream* stream_ = nullptr;
  std::mutex mutex_;
  std::vector<Status> statuses_;
  std::unique_ptr<Requests> requests_;
};

TEST_F(RequestsTest, StreamWaitsForTheRingAndKeepsAModelUntilItsRequestsAreAnswered) {
  send(1, true);
  send(1, false);
  send(1, true);
  send(2, true);
  EXPECT_THAT(journal_.lines(), ElementsAre("ring 1", "ring passes on", "stream 2",
                                            "ring passes on", "stream 3", "ring 4"));
  stream_->answer(2);
  stream_->answer(3);
  wait_for_answers(2);
  send(1, true);
  EXPECT_THAT(journal_.lines(), ElementsAre("ring 5"));
}

TEST_F(RequestsTest, StreamOfAModelThatHasNothingInTheRingDoesNotWait) {
  send(1, true);
  send(2, false);
  EXPECT_THAT(journal_.lines(), ElementsAre("ring 1", "stream 2"));
}

TEST_F(RequestsTest, CancelGoesTheWayOfItsRequest) {
  requests_->cancel(send(1, true));
  requests_->cancel(send(2, false));
  requests_->cancel(99);
  EXPECT_THAT(journal_.lines(),
              ElementsAre("ring 1", "ring cancels 1", "stream 2", "stream cancels 2"));
}

TEST_F(RequestsTest, EndOfTheRingAnswersItsRequestsOnceAndNoOthers) {
  send(1, true);
  send(1, true);
  send(2, false);
  ring_->end(make_error(Code::kUnavailable, "gone"));
  wait_for_answers(2);
  EXPECT_TRUE(requests_->is_over());
  EXPECT_EQ(requests_->send(1, {}, {}, nullptr).status().code(), Code::kUnavailable);
  stream_->answer(3);
  wait_for_answers(3);
  EXPECT_EQ(statuses_[0].message(), "gone");
  EXPECT_EQ(statuses_[1].message(), "gone");
  EXPECT_TRUE(statuses_[2].is_ok());
}

TEST_F(RequestsTest, LimitCountsBothWays) {
  for (int i = 0; i < 8; ++i) send(1, i % 2 == 0);
  EXPECT_EQ(terms::runtime_code_of(requests_->send(1, {}, {}, nullptr).status()),
            RuntimeCode::kQueueFull);
  requests_->close(0);
  EXPECT_EQ(num_answers(), 8U);
}

}  // namespace
}  // namespace sluice::client
