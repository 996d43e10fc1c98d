#include "base/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>

#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice {
namespace {

using sluice::testing::eventually;

struct Record {
  void* data = nullptr;
  std::int64_t number = 0;
};

Record record(std::int64_t number) { return {nullptr, number}; }

TEST(Ring, DrainsInTheOrderOfFilling) {
  Ring<Record> ring(4);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(ring.try_push(record(i)), RingResult::kDone);
  Record got;
  for (std::int64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(ring.try_pop(got), RingResult::kDone);
    EXPECT_EQ(got.number, i);
  }
  EXPECT_EQ(ring.try_pop(got), RingResult::kNotNow);
}

TEST(Ring, FillsToItsCapacityAndNotBeyond) {
  for (const std::size_t capacity : {1U, 3U, 4U, 5U}) {
    Ring<Record> ring(capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(ring.try_push(record(1)), RingResult::kDone);
    }
    EXPECT_EQ(ring.try_push(record(1)), RingResult::kNotNow);
    EXPECT_EQ(ring.size(), capacity);
    Record got;
    EXPECT_EQ(ring.try_pop(got), RingResult::kDone);
    EXPECT_EQ(ring.try_push(record(1)), RingResult::kDone) << "a popped cell is free again";
  }
}

TEST(Ring, StartsFromTheFirstCellAfterTheLast) {
  Ring<Record> ring(3);
  Record got;
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(ring.try_push(record(i)), RingResult::kDone);
    ASSERT_EQ(ring.try_pop(got), RingResult::kDone);
    ASSERT_EQ(got.number, i);
  }
}

TEST(Ring, ClosingRefusesNewRecordsAndDeliversTheOldOnes) {
  Ring<Record> ring(2);
  ASSERT_EQ(ring.try_push(record(7)), RingResult::kDone);
  ring.close();
  EXPECT_EQ(ring.try_push(record(8)), RingResult::kClosed);
  Record got;
  EXPECT_EQ(ring.try_pop(got), RingResult::kDone);
  EXPECT_EQ(got.number, 7);
  EXPECT_EQ(ring.try_pop(got), RingResult::kClosed);
}

TEST(Ring, FullRingThatIsClosedSaysClosed) {
  Ring<Record> ring(1);
  ASSERT_EQ(ring.try_push(record(1)), RingResult::kDone);
  ring.close();
  EXPECT_EQ(ring.try_push(record(2)), RingResult::kClosed);
}

TEST(Ring, WaitsEndAtTheirDeadline) {
  Ring<Record> ring(1);
  ManualClock clock;
  Record got;
  EXPECT_EQ(ring.pop(got, clock, 0), RingResult::kNotNow);
  ASSERT_EQ(ring.try_push(record(1)), RingResult::kDone);
  std::thread producer([&] { EXPECT_EQ(ring.push(record(2), clock, 50), RingResult::kNotNow); });
  EXPECT_TRUE(eventually([&] { return clock.num_waiting() != 0; }));
  clock.advance(50);
  producer.join();
  EXPECT_EQ(ring.size(), 1U);
}

TEST(Ring, ClosingWakesBothSides) {
  Ring<Record> empty(1);
  Ring<Record> full(1);
  ManualClock clock;
  ASSERT_EQ(full.try_push(record(1)), RingResult::kDone);
  std::thread consumer([&] {
    Record got;
    EXPECT_EQ(empty.pop(got, clock, kNoDeadline), RingResult::kClosed);
  });
  std::thread producer(
      [&] { EXPECT_EQ(full.push(record(2), clock, kNoDeadline), RingResult::kClosed); });
  EXPECT_TRUE(eventually([&] { return clock.num_waiting() >= 2; }));
  empty.close();
  full.close();
  consumer.join();
  producer.join();
}

/// Against a deque: any sequence of pushes, pops and one close.
TEST(Ring, BehavesAsABoundedQueueUnderRandomOperations) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t capacity = 1 + random() % 9;
    Ring<Record> ring(capacity);
    std::deque<std::int64_t> model;
    bool is_closed = false;
    for (std::int64_t i = 0; i < 300; ++i) {
      const std::uint32_t choice = random() % 1000;
      if (choice == 0) {
        ring.close();
        is_closed = true;
      } else if (choice % 2 == 0) {
        const RingResult expected = is_closed                  ? RingResult::kClosed
                                    : model.size() == capacity ? RingResult::kNotNow
                                                               : RingResult::kDone;
        ASSERT_EQ(ring.try_push(record(i)), expected);
        if (expected == RingResult::kDone) model.push_back(i);
      } else {
        Record got;
        const RingResult expected = !model.empty() ? RingResult::kDone
                                    : is_closed    ? RingResult::kClosed
                                                   : RingResult::kNotNow;
        ASSERT_EQ(ring.try_pop(got), expected);
        if (expected != RingResult::kDone) continue;
        ASSERT_EQ(got.number, model.front());
        model.pop_front();
      }
      ASSERT_EQ(ring.size(), model.size());
    }
  }
}

TEST(Ring, TwoThreadsPassEveryRecordOnceAndInOrder) {
  for (const std::size_t capacity : {1U, 2U, 64U}) {
    const std::int64_t num_records = capacity > 2 ? 50'000 : 2'000;
    Ring<Record> ring(capacity);
    std::thread producer([&] {
      for (std::int64_t i = 0; i < num_records; ++i) {
        ASSERT_EQ(ring.push(record(i), system_clock(), kNoDeadline), RingResult::kDone);
      }
      ring.close();
    });
    Record got;
    std::int64_t wanted = 0;
    while (ring.pop(got, system_clock(), kNoDeadline) == RingResult::kDone) {
      ASSERT_EQ(got.number, wanted++);
    }
    EXPECT_EQ(wanted, num_records);
    producer.join();
  }
}

TEST(Ring, ConcurrentCloseRefusesOrDeliversEachRecord) {
  for (int round = 0; round < 300; ++round) {
    Ring<Record> ring(8);
    std::int64_t num_pushed = 0;
    std::thread producer([&] {
      while (ring.push(record(num_pushed), system_clock(), kNoDeadline) == RingResult::kDone) {
        ++num_pushed;
      }
    });
    std::thread closer([&] { ring.close(); });
    std::int64_t num_popped = 0;
    Record got;
    while (ring.pop(got, system_clock(), kNoDeadline) == RingResult::kDone) ++num_popped;
    producer.join();
    closer.join();
    ASSERT_EQ(num_popped, num_pushed);
  }
}

}  // namespace
}  // namespace sluice
