// How long things take: counts by duration in fixed memory, mergeable.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace sluice::runtime {

/// Log-linear buckets of nanoseconds: eight of equal width to every power of two, so that a bucket
/// is at most an eighth of its value wide. Values of 2^40 (18 minutes) and above share the last.
struct HistogramBuckets {
  static constexpr int kLinearBits = 3;
  static constexpr int kMostBits = 40;
  static constexpr std::size_t kCount =
      (std::size_t{kMostBits - kLinearBits} + 1) * (std::size_t{1} << kLinearBits);

  /// Negative values count as 0.
  static std::size_t index_of(std::int64_t value_ns);
  /// The least value of a bucket.
  static std::int64_t lower_bound_ns(std::size_t index);
};

/// What a histogram held at one moment. Merging is adding, in any order.
class HistogramSnapshot {
 public:
  void merge(const HistogramSnapshot& other);

  std::int64_t count() const { return count_; }
  std::int64_t sum_ns() const { return sum_ns_; }
  std::int64_t max_ns() const { return max_ns_; }
  double mean_ns() const;
  /// The middle of the bucket that holds the value of this rank; `max_ns` for 1; 0 if empty.
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

/// Written by one thread at a time, read by any, without a lock. A reader may see a value that is
/// being recorded in some of the numbers and not yet in others.
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
