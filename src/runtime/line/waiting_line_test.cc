#include "runtime/line/waiting_line.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sluice::runtime {
namespace {

PendingRequest pending(std::uint64_t id, std::int32_t priority, std::int64_t deadline_ns) {
  PendingRequest made;
  made.id = id;
  made.request.priority = priority;
  made.request.deadline_ns = deadline_ns;
  return made;
}

std::vector<std::uint64_t> order_of(WaitingLine<>& line) {
  std::vector<std::uint64_t> order;
  while (auto next = line.pop()) order.push_back(next->id);
  return order;
}

TEST(WaitingLine, OrdersByPriorityThenDeadlineThenArrival) {
  WaitingLine<> line;
  line.push(pending(1, 0, kNoDeadline));
  line.push(pending(2, 0, 500));
  line.push(pending(3, 1, kNoDeadline));
  line.push(pending(4, 0, 500));
  line.push(pending(5, -1, 1));
  line.push(pending(6, 0, 400));
  EXPECT_EQ(order_of(line), (std::vector<std::uint64_t>{3, 6, 2, 4, 1, 5}));
}

TEST(WaitingLine, ExpiredRequestsLeaveAndOthersKeepTheirOrder) {
  WaitingLine<> line;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    line.push(pending(id, 0, id % 2 == 0 ? 100 : kNoDeadline));
  }
  EXPECT_EQ(line.next_deadline_ns(), 100);
  EXPECT_TRUE(line.take_expired(99).empty());
  EXPECT_EQ(line.take_expired(100).size(), 3U);
  EXPECT_EQ(line.next_deadline_ns(), kNoDeadline);
  EXPECT_EQ(order_of(line), (std::vector<std::uint64_t>{1, 3, 5}));
}

TEST(WaitingLine, EachRequestIsTakenOnce) {
  WaitingLine<> line;
  line.push(pending(7, 0, kNoDeadline));
  EXPECT_FALSE(line.take(8));
  EXPECT_TRUE(line.take(7));
  EXPECT_FALSE(line.take(7));
  EXPECT_TRUE(line.empty());
}

TEST(WaitingLine, OldestRequestLetsNineteenOfAHigherPriorityPass) {
  WaitingLine<> line;
  line.push(pending(1, 0, kNoDeadline));
  std::vector<std::uint64_t> order;
  for (std::uint64_t id = 2; id <= 60; ++id) line.push(pending(id, 5, kNoDeadline));
  while (!line.empty()) {
    line.put_passed_first();
    order.push_back(line.front()->id);
    (void)line.take(order.back());
  }
  ASSERT_EQ(order.size(), 60U);
  EXPECT_EQ(order[18], 20U);
  EXPECT_EQ(order[19], 1U);
  EXPECT_EQ(order[20], 21U);
}

TEST(WaitingLine, CopyOfAShadowWaitsForAllOthers) {
  WaitingLine<> line;
  line.push(pending(1, std::numeric_limits<std::int32_t>::min(), kNoDeadline));
  line.push(pending(2, 0, kNoDeadline));
  for (std::uint64_t id = 3; id <= 60; ++id) line.push(pending(id, 5, kNoDeadline));
  std::vector<std::uint64_t> order;
  while (!line.empty()) {
    line.put_passed_first();
    order.push_back(line.pop()->id);
  }
  EXPECT_EQ(order[19], 2U);
  EXPECT_EQ(order.back(), 1U);
}

}  // namespace
}  // namespace sluice::runtime
