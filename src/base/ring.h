// A queue of fixed size between two threads.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/clock.h"
#include "base/parking_spot.h"

namespace sluice {

enum class RingResult {
  kDone,
  kNotNow,  ///< full or empty, at the deadline too
  kClosed,  ///< closed for pushes; or closed and empty for pops
};

/// A lock-free FIFO. Operations take constant time and never allocate. Records are small: pointers
/// and metadata, never tensor bytes.
///
///     open --close--> closed --last record popped--> drained
///
/// One thread at a time pushes and one pops; anybody closes. A push that answered kDone is popped,
/// also when `close` comes at the same time. The two sides write different cache lines, and each
/// reads the other's only if its cached copy does not suffice.
template <typename Record>
class Ring {
  static_assert(std::is_trivially_copyable_v<Record>, "records are copied as plain bytes");

 public:
  /// Requires: `capacity` > 0.
  explicit Ring(std::size_t capacity)
      : capacity_(capacity),
        mask_(std::bit_ceil(capacity) - 1),
        records_(std::make_unique<Record[]>(mask_ + 1)) {}
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() = default;

  std::size_t capacity() const { return capacity_; }

  // The producer's side.

  RingResult try_push(const Record& record) {
    std::uint64_t tail = producer_.position;
    if (tail - producer_.seen == capacity_) {
      producer_.seen = head_.load(std::memory_order_acquire);
      if (tail - producer_.seen == capacity_) {
        return is_closed() ? RingResult::kClosed : RingResult::kNotNow;
      }
    }
    records_[tail & mask_] = record;
    // Publishes the record unless the closed bit came first.
    if (!tail_.compare_exchange_strong(tail, tail + 1, std::memory_order_seq_cst)) {
      return RingResult::kClosed;
    }
    ++producer_.position;
    not_empty_.wake();
    return RingResult::kDone;
  }

  /// Waits while the ring is full.
  RingResult push(const Record& record, Clock& clock, std::int64_t deadline_ns) {
    const RingResult result = try_push(record);
    if (result != RingResult::kNotNow) return result;
    wait_for_room(clock, deadline_ns);
    return try_push(record);
  }

  /// Until the ring is closed or not full, or `deadline_ns`. Any thread's.
  void wait_for_room(Clock& clock, std::int64_t deadline_ns) {
    not_full_.wait(clock, deadline_ns, [&] { return size() < capacity_ || is_closed(); });
  }

  // The consumer's side.

  RingResult try_pop(Record& record) {
    const std::uint64_t head = consumer_.position;
    if (head == consumer_.seen) {
      const std::uint64_t tail = tail_.load(std::memory_order_seq_cst);
      consumer_.seen = tail & ~kClosedBit;
      if (head == consumer_.seen) {
        return (tail & kClosedBit) != 0 ? RingResult::kClosed : RingResult::kNotNow;
      }
    }
    record = records_[head & mask_];
    ++consumer_.position;
    head_.store(head + 1, std::memory_order_seq_cst);
    not_full_.wake();
    return RingResult::kDone;
  }

  /// Waits while the ring is empty and open.
  RingResult pop(Record& record, Clock& clock, std::int64_t deadline_ns) {
    const RingResult result = try_pop(record);
    if (result != RingResult::kNotNow) return result;
    not_empty_.wait(clock, deadline_ns, [&] { return size() > 0 || is_closed(); });
    return try_pop(record);
  }

  // Any thread's.

  /// Pushes fail from now on; what is inside can still be popped. Wakes both sides.
  void close() {
    tail_.fetch_or(kClosedBit, std::memory_order_seq_cst);
    not_empty_.wake();
    not_full_.wake();
  }

  bool is_closed() const { return (tail_.load(std::memory_order_seq_cst) & kClosedBit) != 0; }

  /// Exact for the thread that pops, if nobody pushes, and the other way round; else a recent
  /// value.
  std::size_t size() const {
    const std::uint64_t head = head_.load(std::memory_order_seq_cst);
    return (tail_.load(std::memory_order_seq_cst) & ~kClosedBit) - head;
  }

 private:
  static constexpr std::uint64_t kClosedBit = std::uint64_t{1} << 63U;
  static constexpr std::size_t kCacheLine = 64;

  /// The private state of one side: its position, and the other's position as last read.
  struct alignas(kCacheLine) Side {
    std::uint64_t position = 0;
    std::uint64_t seen = 0;
  };

  const std::size_t capacity_;
  const std::uint64_t mask_;
  const std::unique_ptr<Record[]> records_;
  Side producer_;
  Side consumer_;
  alignas(kCacheLine) std::atomic<std::uint64_t> tail_ = 0;  ///< pushed so far, and the closed bit
  alignas(kCacheLine) std::atomic<std::uint64_t> head_ = 0;  ///< popped so far
  alignas(kCacheLine) ParkingSpot not_empty_;
  alignas(kCacheLine) ParkingSpot not_full_;
};

}  // namespace sluice
