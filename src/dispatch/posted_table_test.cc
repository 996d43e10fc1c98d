#include "dispatch/posted_table.h"

#include <gtest/gtest.h>

#include "dispatch/testing/keeping_sink.h"
#include "runtime/handle_table.h"
#include "support/manual_clock.h"

namespace sluice::dispatch {
namespace {

using runtime::Reply;
using runtime::Request;

class PostedTableTest : public ::testing::Test {
 protected:
  Result<std::uint64_t> post(int value) {
    Request request;
    const auto answer = std::make_shared<int>(0);
    request.on_done = [answer, value](const Reply&) { *answer = value; };
    return table_->post(model_, nullptr, request, {}, answer);
  }
  RuntimeCode take_code(std::uint64_t id) {
    return terms::runtime_code_of(table_->take(id).status());
  }
  int take(std::uint64_t id) {
    const PostedTable::Answer answer = table_->take(id).value();
    table_->delivered(id);
    return *static_cast<const int*>(answer.get());
  }

  const std::shared_ptr<testing::KeepingSink> sink_ = std::make_shared<testing::KeepingSink>();
  const std::shared_ptr<ModelRef> model_ =
      std::make_shared<ModelRef>(sink_, std::vector<bool>{true}, false);
  ManualClock clock_;
  const std::shared_ptr<PostedTable> table_ = std::make_shared<PostedTable>(clock_);
};

TEST_F(PostedTableTest, ReplyIsTakenOnce) {
  const std::uint64_t id = post(7).value();
  EXPECT_EQ(runtime::kind_of(id), runtime::HandleKind::kPosted);
  EXPECT_EQ(take_code(id), RuntimeCode::kPending);
  sink_->answer(0);
  EXPECT_EQ(take(id), 7);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(take_code(id + 1), RuntimeCode::kInvalidHandle);
}

TEST_F(PostedTableTest, WaitEndsWithTheReply) {
  const std::uint64_t id = post(7).value();
  int num_ended = 0;
  table_->await(id, this, [&] { ++num_ended; });
  EXPECT_EQ(num_ended, 0);
  sink_->answer(0);
  EXPECT_EQ(num_ended, 1);
  table_->await(id, this, [&] { ++num_ended; });
  EXPECT_EQ(num_ended, 2) << "at once: the reply is there";
  table_->await(id + 1, this, [&] { ++num_ended; });
  EXPECT_EQ(num_ended, 3) << "at once: nobody has this request";
}

TEST_F(PostedTableTest, OneWaitsAtATime) {
  const std::uint64_t id = post(7).value();
  std::string ended;
  const int first = 0;
  const int second = 0;
  table_->await(id, &first, [&] { ended += 'a'; });
  table_->await(id, &second, [&] { ended += 'b'; });
  EXPECT_EQ(ended, "a");
  table_->leave(id, &first);
  EXPECT_EQ(ended, "a") << "it has left";
  table_->leave(id, &second);
  EXPECT_EQ(ended, "ab");
  sink_->answer(0);
  EXPECT_EQ(ended, "ab");
}

TEST_F(PostedTableTest, RefusedRequestHasNoId) {
  sink_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  EXPECT_EQ(terms::runtime_code_of(post(7).status()), RuntimeCode::kQueueFull);
}

TEST_F(PostedTableTest, OldestReplyGivesWayWhereThereAreTooMany) {
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < PostedTable::kMost; ++i) {
    ids.push_back(post(7).value());
    clock_.advance(1);
    // The first request stays in flight, and the second is answered after all others.
    if (i > 1) sink_->answer(i);
  }
  sink_->answer(1);
  EXPECT_TRUE(post(1).is_ok());
  EXPECT_EQ(take_code(ids[2]), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(take_code(ids[0]), RuntimeCode::kPending);
  EXPECT_EQ(take(ids[1]), 7);
  EXPECT_EQ(take(ids[3]), 7);
}

TEST_F(PostedTableTest, RequestsInFlightAreBounded) {
  for (std::size_t i = 0; i < PostedTable::kMost; ++i) ASSERT_TRUE(post(1).is_ok());
  EXPECT_EQ(terms::runtime_code_of(post(1).status()), RuntimeCode::kOutOfResources);
  sink_->answer(0);
  EXPECT_TRUE(post(1).is_ok());
}

TEST_F(PostedTableTest, ReplyThatNobodyTakesGoesWithTheNextRequestAfterItsTime) {
  const std::uint64_t old = post(1).value();
  const std::uint64_t late = post(2).value();
  sink_->answer(0);
  clock_.advance(PostedTable::kKeptNs - 1);
  const std::uint64_t young = post(3).value();
  EXPECT_EQ(sink_->requests.size(), 3U);
  clock_.advance(1);
  sink_->answer(1);
  EXPECT_EQ(take_code(old), RuntimeCode::kInvalidHandle) << "another one was answered";
  clock_.advance(PostedTable::kKeptNs);
  const std::uint64_t next = post(4).value();
  EXPECT_EQ(take_code(late), RuntimeCode::kInvalidHandle) << "another one was posted";
  EXPECT_EQ(take_code(young), RuntimeCode::kPending) << "its time begins with its answer";
  sink_->answer(2);
  EXPECT_EQ(take(young), 3);
  EXPECT_EQ(take_code(next), RuntimeCode::kPending);
}

TEST_F(PostedTableTest, ReplyThatWasPutBackIsTakenAgain) {
  const std::uint64_t id = post(7).value();
  sink_->answer(0);
  table_->put_back(id, table_->take(id).value());
  EXPECT_EQ(take(id), 7);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle);
  table_->put_back(id, nullptr);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle) << "it had been delivered";
}

TEST_F(PostedTableTest, ReplyThatIsPutBackIsAsOldAsItWas) {
  const std::uint64_t id = post(7).value();
  const std::uint64_t younger = post(8).value();
  sink_->answer(0);
  const std::int64_t over_ns = clock_.now_ns() + PostedTable::kKeptNs;
  clock_.advance(PostedTable::kKeptNs / 2);
  sink_->answer(1);
  auto answer = table_->take(id).value();
  std::vector<std::int64_t> told;
  table_->set_on_kept([&](std::int64_t told_ns) { told.push_back(told_ns); });
  table_->put_back(id, std::move(answer));
  EXPECT_EQ(told, std::vector{over_ns}) << "it is the oldest again";
  clock_.advance(PostedTable::kKeptNs / 2);
  EXPECT_EQ(table_->expire(), over_ns + PostedTable::kKeptNs / 2);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(take(younger), 8);
}

TEST_F(PostedTableTest, ReplyOnItsWayIsPendingForOthersWhoWaitUntilItHasArrivedOrComesBack) {
  const std::uint64_t id = post(7).value();
  sink_->answer(0);
  auto answer = table_->take(id).value();
  EXPECT_EQ(take_code(id), RuntimeCode::kPending);
  EXPECT_TRUE(table_->cancel(id).is_ok()) << "without effect";
  int num_ended = 0;
  table_->await(id, this, [&] { ++num_ended; });
  EXPECT_EQ(num_ended, 0);
  table_->put_back(id, std::move(answer));
  EXPECT_EQ(num_ended, 1);
  answer = table_->take(id).value();
  table_->await(id, this, [&] { ++num_ended; });
  table_->delivered(id);
  EXPECT_EQ(num_ended, 2);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle);
}

TEST_F(PostedTableTest, ReplyThatNobodyTakesExpires) {
  std::vector<std::int64_t> told;
  table_->set_on_kept([&](std::int64_t over_ns) { told.push_back(over_ns); });
  EXPECT_EQ(table_->expire(), kNoDeadline);
  const std::int64_t start_ns = clock_.now_ns();
  const std::uint64_t old = post(1).value();
  const std::uint64_t young = post(2).value();
  sink_->answer(0);
  clock_.advance(10);
  sink_->answer(1);
  EXPECT_EQ(told, std::vector{start_ns + PostedTable::kKeptNs}) << "that of the first";
  clock_.advance(PostedTable::kKeptNs - 10);
  EXPECT_EQ(table_->expire(), start_ns + PostedTable::kKeptNs + 10);
  EXPECT_EQ(take_code(old), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(take(young), 2);
  EXPECT_EQ(table_->expire(), kNoDeadline);
}

TEST_F(PostedTableTest, TablesShareNoId) {
  const auto other = std::make_shared<PostedTable>(clock_);
  const std::uint64_t id = post(7).value();
  Request request;
  request.on_done = [](const Reply&) {};
  EXPECT_NE(other->post(model_, nullptr, request, {}, nullptr).value(), id);
}

TEST_F(PostedTableTest, ClosedTableEndsItsWaitsAndForgetsItsReplies) {
  const std::uint64_t id = post(7).value();
  int num_ended = 0;
  table_->await(id, this, [&] { ++num_ended; });
  table_->close(terms::runtime_error(RuntimeCode::kCancelled, "the session is over"));
  EXPECT_EQ(num_ended, 1);
  EXPECT_EQ(table_->take(id).status().message(), "the session is over");
  EXPECT_EQ(take_code(id), RuntimeCode::kCancelled);
  EXPECT_EQ(terms::runtime_code_of(table_->cancel(id)), RuntimeCode::kCancelled);
  EXPECT_EQ(terms::runtime_code_of(post(7).status()), RuntimeCode::kCancelled);
  table_->put_back(id, nullptr);
  EXPECT_EQ(take_code(id), RuntimeCode::kCancelled);
  sink_->answer(0);  // late: nothing happens
}

}  // namespace
}  // namespace sluice::dispatch
