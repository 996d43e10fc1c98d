#include "runtime/inference/request_queue.h"

#include <gtest/gtest.h>

namespace sluice::runtime {
namespace {

PendingRequest pending(std::uint64_t id, std::int32_t priority, std::int64_t deadline_ns) {
  PendingRequest made;
  made.id = id;
  made.request.priority = priority;
  made.request.deadline_ns = deadline_ns;
  return made;
}

std::vector<std::uint64_t> order_of(RequestQueue& queue) {
  std::vector<std::uint64_t> order;
  while (auto next = queue.pop()) order.push_back(next->id);
  return order;
}

TEST(RequestQueue, GoesByPriorityThenDeadlineThenArrival) {
  RequestQueue queue;
  queue.push(pending(1, 0, kNoDeadline));
  queue.push(pending(2, 0, 500));
  queue.push(pending(3, 1, kNoDeadline));
  queue.push(pending(4, 0, 500));
  queue.push(pending(5, -1, 1));
  queue.push(pending(6, 0, 400));
  EXPECT_EQ(order_of(queue), (std::vector<std::uint64_t>{3, 6, 2, 4, 1, 5}));
}

TEST(RequestQueue, ExpiredOnesLeaveAndTheOthersKeepTheirOrder) {
  RequestQueue queue;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    queue.push(pending(id, 0, id % 2 == 0 ? 100 : kNoDeadline));
  }
  EXPECT_EQ(queue.next_deadline_ns(), 100);
  EXPECT_TRUE(queue.take_expired(99).empty());
  EXPECT_EQ(queue.take_expired(100).size(), 3U);
  EXPECT_EQ(queue.next_deadline_ns(), kNoDeadline);
  EXPECT_EQ(order_of(queue), (std::vector<std::uint64_t>{1, 3, 5}));
}

TEST(RequestQueue, OneIsTakenOnce) {
  RequestQueue queue;
  queue.push(pending(7, 0, kNoDeadline));
  EXPECT_FALSE(queue.take(8));
  EXPECT_TRUE(queue.take(7));
  EXPECT_FALSE(queue.take(7));
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace sluice::runtime
