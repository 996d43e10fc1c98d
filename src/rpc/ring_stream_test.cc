// Many requests of one client through one ring, to models and functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

class RingStreamTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  RingStreamTest() : ServingTest(service::ServiceOptions{}) {
    client_ = std::move(client::Client::create({.address = address()})).value();
    EXPECT_TRUE(client_->open_session("test").is_ok());
    terms::LoadOptions options;
    options.queue_limit = 1024;
    options.function = terms::FunctionOptions();
    for (const char* name : {"first", "second"}) {
      options.name = name;
      const auto function = client_->load(options, package_);
      EXPECT_TRUE(function.is_ok()) << function.status().to_string();
      functions_.push_back(function->info.handle);
    }
  }
  ~RingStreamTest() override {
    client_ = nullptr;
    stop();
  }

  static std::vector<terms::NamedTensor> inputs(std::vector<float>& x) {
    return {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}};
  }
  static Status send(client::InferStream& stream, std::uint64_t id, std::uint64_t function) {
    std::vector<float> x(4, static_cast<float>(id));
    return stream.send(id, function, inputs(x));
  }

  std::unique_ptr<client::Client> client_;
  std::vector<std::uint64_t> functions_;
  int num_cancelled_ = 0;
};

TEST_F(RingStreamTest, AnswersManyRequestsOfSeveralFunctionsOnceEach) {
  constexpr std::uint64_t kRequests = 3000;
  const auto stream =
      std::move(client_->open_ring_stream({.num_entries = 64, .entry_bytes = 4096})).value();
  std::thread sender([&] {
    for (std::uint64_t id = 0; id < kRequests; ++id) {
      EXPECT_TRUE(send(*stream, id, functions_[id % 2]).is_ok());
    }
    stream->close();
  });
  std::map<std::uint64_t, int> answers;
  while (true) {
    const auto answer = stream->next();
    ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
    if (!*answer) break;
    const client::StreamAnswer& one = **answer;
    ASSERT_TRUE(one.reply.is_ok()) << one.reply.status().to_string();
    EXPECT_EQ(*static_cast<const float*>(one.reply->outputs.at(0).view.data),
              static_cast<float>(one.id) + 1);
    ++answers[one.id];
  }
  sender.join();
  EXPECT_EQ(answers.size(), kRequests);
  for (const auto& [id, count] : answers) EXPECT_EQ(count, 1) << id;
  EXPECT_FALSE(send(*stream, 0, functions_[0]).is_ok());
}

TEST_F(RingStreamTest, KeepsAnEntryUntilItsReplyIsDestroyed) {
  const auto stream =
      std::move(client_->open_ring_stream({.num_entries = 2, .entry_bytes = 4096})).value();
  ASSERT_TRUE(send(*stream, 1, functions_[0]).is_ok());
  ASSERT_TRUE(send(*stream, 2, functions_[0]).is_ok());
  auto first = std::move(stream->next()).value();
  std::atomic<bool> is_sent = false;
  std::thread third([&] {
    EXPECT_TRUE(send(*stream, 3, functions_[0]).is_ok());
    is_sent = true;
  });
  auto second = std::move(stream->next()).value();
  EXPECT_FALSE(is_sent);
  EXPECT_EQ(*static_cast<const float*>(first->reply->outputs.at(0).view.data),
            static_cast<float>(first->id) + 1);
  first.reset();
  third.join();
  EXPECT_EQ(std::move(stream->next()).value()->id, 3U);
}

TEST_F(RingStreamTest, SaysWhatItDoesNotCarry) {
  const auto stream =
      std::move(client_->open_ring_stream({.num_entries = 2, .entry_bytes = 64})).value();
  std::vector<float> x(4, 1);
  auto from_exchange = inputs(x);
  from_exchange[0].exchange = 7;
  EXPECT_THAT(stream->send(1, functions_[0], from_exchange).message(), HasSubstr("exchange"));
  EXPECT_THAT(stream->send(1, 12345, inputs(x)).message(), HasSubstr("no model"));
  EXPECT_THAT(stream->send(1, functions_[0], inputs(x)).message(), HasSubstr("64 bytes"));
  EXPECT_EQ(client_->open_ring_stream({.num_entries = 3}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(client_->open_ring_stream({.entry_bytes = 1}).status().code(), Code::kInvalidArgument);
  const auto other = std::move(client::Client::create({.address = address()})).value();
  EXPECT_EQ(other->open_ring_stream().status().code(), Code::kFailedPrecondition);
}

TEST_F(RingStreamTest, EndsWithTheDaemonsRing) {
  const auto stream = std::move(client_->open_ring_stream()).value();
  std::thread reader([&] { EXPECT_EQ(stream->next().status().code(), Code::kUnavailable); });
  service_.shutdown(0);
  reader.join();
}

TEST_F(RingStreamTest, CancelEndsARequestThatWaits) {
  const auto stream =
      std::move(client_->open_ring_stream({.num_entries = 32, .entry_bytes = 4096})).value();
  for (int round = 0; round < 20; ++round) {
    for (std::uint64_t id = 0; id < 32; ++id) {
      ASSERT_TRUE(send(*stream, id, functions_[0]).is_ok());
    }
    for (std::uint64_t id = 0; id < 32; ++id) EXPECT_TRUE(stream->cancel(id).is_ok());
    EXPECT_TRUE(stream->cancel(99).is_ok()) << "no request has this id";
    for (int i = 0; i < 32; ++i) {
      const auto answer = std::move(stream->next()).value();
      ASSERT_TRUE(answer);
      if (!answer->reply.is_ok()) {
        EXPECT_EQ(terms::runtime_code_of(answer->reply.status()), RuntimeCode::kCancelled);
        ++num_cancelled_;
      }
    }
  }
  EXPECT_GT(num_cancelled_, 0);
}

TEST_F(RingStreamTest, TrySendRefusesInsteadOfWaiting) {
  const auto stream =
      std::move(client_->open_ring_stream({.num_entries = 1, .entry_bytes = 4096})).value();
  std::vector<float> x(4, 1);
  ASSERT_TRUE(stream->try_send(1, functions_[0], inputs(x)));
  EXPECT_FALSE(stream->try_send(2, functions_[0], inputs(x))) << "no entry is free";
  stream->wait_until_passed_on();
  EXPECT_EQ(std::move(stream->next()).value()->id, 1U);
  EXPECT_FALSE(stream->try_send(2, functions_[0], inputs(x), {.wants_detail = true}));
  EXPECT_TRUE(stream->try_send(2, functions_[0], inputs(x)));
}

TEST_F(RingStreamTest, SessionCountsItsRequests) {
  const auto stream = std::move(client_->open_ring_stream()).value();
  for (std::uint64_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(send(*stream, id, functions_[0]).is_ok());
    EXPECT_TRUE(std::move(stream->next()).value());
  }
  EXPECT_EQ(client_->list_sessions()->at(0).num_ring_requests, 3);
}

TEST_F(RingStreamTest, EndsByAbort) {
  const auto stream = std::move(client_->open_ring_stream()).value();
  std::thread reader([&] { EXPECT_EQ(stream->next().status().code(), Code::kCancelled); });
  stream->abort();
  reader.join();
  EXPECT_EQ(send(*stream, 1, functions_[0]).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice::rpc
