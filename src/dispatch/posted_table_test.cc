#include "dispatch/posted_table.h"

#include <gtest/gtest.h>

#include "dispatch/testing/keeping_sink.h"
#include "runtime/handle_table.h"

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
  int take(std::uint64_t id) { return *static_cast<const int*>(table_->take(id)->get()); }

  const std::shared_ptr<testing::KeepingSink> sink_ = std::make_shared<testing::KeepingSink>();
  const std::shared_ptr<ModelRef> model_ =
      std::make_shared<ModelRef>(sink_, std::vector<bool>{true}, false);
  const std::shared_ptr<PostedTable> table_ = std::make_shared<PostedTable>();
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

TEST_F(PostedTableTest, RepliesThatNobodyTakesAreBounded) {
  for (std::size_t i = 0; i < PostedTable::kMost; ++i) {
    ASSERT_TRUE(post(1).is_ok());
    sink_->answer(i);
  }
  EXPECT_EQ(terms::runtime_code_of(post(1).status()), RuntimeCode::kOutOfResources);
}

TEST_F(PostedTableTest, ClosedTableEndsItsWaitsAndForgetsItsReplies) {
  const std::uint64_t id = post(7).value();
  int num_ended = 0;
  table_->await(id, this, [&] { ++num_ended; });
  table_->close();
  EXPECT_EQ(num_ended, 1);
  EXPECT_EQ(take_code(id), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(terms::runtime_code_of(table_->cancel(id)), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(terms::runtime_code_of(post(7).status()), RuntimeCode::kCancelled);
  sink_->answer(0);  // late: nothing happens
}

}  // namespace
}  // namespace sluice::dispatch
