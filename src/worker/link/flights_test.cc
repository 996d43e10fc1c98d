#include "worker/link/flights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "shm/ring_server.h"

namespace sluice::worker {
namespace {

/// A daemon's end with a worker that says what the test wants.
class FlightsTest : public ::testing::Test {
 protected:
  std::uint64_t ask() {
    Inference inference;
    inference.request.tensors = {{&input_, sizeof(input_), ir::ElementType::kF32, {}}};
    inference.on_answer = [this](Answer answer) { answers_.push_back(std::move(answer)); };
    const auto id = flights_.infer(inference);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    return id.is_ok() ? *id : 0;
  }

  /// Where the worker may write its next answer.
  std::span<std::byte> next_room() {
    shm::Submission entry;
    EXPECT_EQ(worker_.take(entry), shm::RingServer::Take::kEntry);
    const shm::RingTensor& room = entry.tensors[entry.head.num_inputs];
    return arena_->memory().subspan(room.offset, room.bytes);
  }

  void say(std::uint64_t request, Code code, std::uint32_t num_outputs, std::uint64_t bytes) {
    shm::Completion completion;
    completion.head.request = request;
    completion.head.status_code = static_cast<std::int32_t>(code);
    completion.head.num_outputs = num_outputs;
    completion.outputs[0].bytes = bytes;
    worker_.complete(completion);
    EXPECT_TRUE(flights_.take_one());
  }

  static Bundle one_number() {
    Bundle bundle;
    bundle.numbers = {7, 8, 9, 0};
    return bundle;
  }

  float input_ = 1;
  std::shared_ptr<Arena> arena_ = Arena::create().value();
  Flights flights_{arena_, "worker of group 3"};
  shm::RingServer worker_ = shm::RingServer::create(arena_->memory()).value();
  std::vector<Answer> answers_;
};

TEST_F(FlightsTest, ReplyHoldsTheBytesThatTheWorkerWrote) {
  const std::uint64_t id = ask();
  write_bundle(one_number(), next_room());
  say(id, Code::kOk, 1, static_cast<std::uint64_t>(bundle_bytes(one_number())));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].code, RuntimeCode::kOk);
  EXPECT_EQ(answers_[0].bundle.numbers[2], 9);
}

TEST_F(FlightsTest, SecondAnswerIsIgnored) {
  const std::uint64_t id = ask();
  write_bundle(one_number(), next_room());
  say(id, Code::kOk, 1, static_cast<std::uint64_t>(bundle_bytes(one_number())));
  say(id, Code::kOk, 1, static_cast<std::uint64_t>(bundle_bytes(one_number())));
  EXPECT_EQ(answers_.size(), 1U);
}

TEST_F(FlightsTest, CompletionWithoutSizeDoesNotUseAnOlderSize) {
  const std::uint64_t one = ask();
  write_bundle(one_number(), next_room());
  say(one, Code::kOk, 1, static_cast<std::uint64_t>(bundle_bytes(one_number())));
  const std::uint64_t other = ask();
  write_bundle(one_number(), next_room());
  say(other, Code::kOk, 0, 0);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_NE(answers_[1].code, RuntimeCode::kOk);
}

TEST_F(FlightsTest, LongReplyGetsMoreRoom) {
  const std::uint64_t id = ask();
  const std::size_t first = next_room().size();
  say(id, Code::kOutOfRange, 1, 10 * first);
  EXPECT_TRUE(answers_.empty());
  EXPECT_GE(next_room().size(), 10 * first);
}

/// The worker wrote its outputs there, and copies them when it has more room.
TEST_F(FlightsTest, FirstRoomOfALongReplyIsNobodyElsesUntilTheAnswer) {
  const std::uint64_t id = ask();
  const std::span<std::byte> first = next_room();
  std::ranges::fill(first, std::byte{7});
  for (std::size_t factor = 10; factor <= 1000; factor *= 10) {
    say(id, Code::kOutOfRange, 1, factor * first.size());
    next_room();
    ask();
    std::ranges::fill(next_room(), std::byte{8});
    EXPECT_EQ(std::ranges::count(first, std::byte{7}), std::ssize(first));
  }
}

TEST_F(FlightsTest, ImpossibleReplySizesAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    for (const Code code : {Code::kOk, Code::kOutOfRange}) {
      const std::uint64_t id = ask();
      next_room();
      answers_.clear();
      say(id, code, 1, bytes);
      ASSERT_EQ(answers_.size(), 1U);
      EXPECT_NE(answers_[0].code, RuntimeCode::kOk);
    }
  }
}

TEST_F(FlightsTest, ClosingAnswersRemainingAndLaterRequests) {
  ask();
  ask();
  flights_.end(make_error(Code::kUnavailable, "it died"));
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].bundle.errors.at(0).message, "it died");
  Inference inference;
  EXPECT_EQ(flights_.infer(inference).status().message(), "it died");
}

}  // namespace
}  // namespace sluice::worker
