#include "service/posted_replies.h"

#include <gtest/gtest.h>

#include "dispatch/testing/keeping_sink.h"
#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::service {
namespace {

TEST(PostedReplies, ReplyOfASessionThatStaysSilentGoesWhenItsTimeIsOver) {
  ManualClock clock;
  sandbox::Exchange exchange(clock, {});
  const auto replies = std::make_shared<PostedReplies>();
  exchange.add(std::weak_ptr<sandbox::ExchangeHolder>(replies));
  const auto table = std::make_shared<dispatch::PostedTable>(clock);
  replies->add(table, exchange);
  const auto sink = std::make_shared<dispatch::testing::KeepingSink>();
  const auto model =
      std::make_shared<dispatch::ModelRef>(sink, std::vector<bool>{true}, /*is_remote=*/false);
  auto answer = std::make_shared<int>(7);
  const std::weak_ptr<int> kept = answer;
  runtime::Request request;
  request.on_done = [](const runtime::Reply& /*reply*/) {};
  ASSERT_TRUE(table->post(model, nullptr, request, {}, std::move(answer)).is_ok());
  sink->answer(0);
  EXPECT_FALSE(kept.expired());
  clock.advance(dispatch::PostedTable::kKeptNs);
  EXPECT_TRUE(sluice::testing::eventually([&] { return kept.expired(); }));
}

}  // namespace
}  // namespace sluice::service
