// A mergeable histogram of durations in fixed memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace sluice::runtime {

/// Log-linear buckets of nanoseconds: eight of equal width per power of two, so the width of a
/// bucket is at most an eighth of its values. The last bucket has all values from 2^40 (18 minutes)
/// on.
struct HistogramBuckets {
  static constexpr int kLinearBits = 3;
  static constexpr int kMaxBits = 40;
  static constexpr std::size_t kCount =
      (std::size_t{kMaxBits - kLinearBits} + 1) * (std::size_t{1} << kLinearBits);

  /// Negative values count as 0.
  static std::size_t index_of(std::int64_t value_ns);
  /// The least value of a bucket.
  static std::int64_t lower_bound_ns(std::size_t index);
};

/// A snapshot. Merging adds the counts, in any order.
class HistogramSnapshot {
 public:
  void merge(const HistogramSnapshot& other);

  std::int64_t count() const { return count_; }
  std::int64_t sum_ns() const { return sum_ns_; }
  std::int64_t max_ns() const { return max_ns_; }
  /// The middle of the bucket with the value of this rank; `max_ns` for 1; 0 if empty.
  /// Requires: 0 <= fraction <= 1.
  std::int64_t quantile_ns(double fraction) const;
  /// By bucket; empty if nothing was recorded.
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  friend class Histogram;
  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  std::int64_t sum_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

/// One writer at a time and any number of readers, without a lock. A reader may see a concurrent
/// value in some of the numbers and not yet in others.
class Histogram {
 public:
  void record(std::int64_t value_ns);
  HistogramSnapshot snapshot() const;

 private:
  std::array<std::atomic<std::int64_t>, HistogramBuckets::kCount> counts_ = {};
  std::atomic<std::int64_t> sum_ns_ = 0;
  std::atomic<std::int64_t> max_ns_ = 0;
};

}  // namespace sluice::runtime
