#include "runtime/statistics/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/statistics/counter.h"

namespace sluice::runtime {

std::size_t HistogramBuckets::index_of(std::int64_t value_ns) {
  constexpr std::size_t kLinear = std::size_t{1} << kLinearBits;
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(value_ns, 0));
  // Below 2^kLinearBits each value has a bucket; above, the bits behind the leading one choose it.
  if (value < kLinear) return static_cast<std::size_t>(value);
  const int octave = static_cast<int>(std::bit_width(value)) - 1 - kLinearBits;
  if (octave >= kMaxBits - kLinearBits) return kCount - 1;
  // The leading one is bit kLinearBits after the shift; subtracting kLinear removes it.
  const std::size_t within =
      static_cast<std::size_t>(value >> static_cast<unsigned>(octave)) - kLinear;
  return (static_cast<std::size_t>(octave) + 1) * kLinear + within;
}

std::int64_t HistogramBuckets::lower_bound_ns(std::size_t index) {
  constexpr std::size_t kLinear = std::size_t{1} << kLinearBits;
  if (index < kLinear) return static_cast<std::int64_t>(index);
  const std::size_t octave = index / kLinear - 1;
  return static_cast<std::int64_t>((kLinear + index % kLinear) << octave);
}

void HistogramSnapshot::merge(const HistogramSnapshot& other) {
  // An empty snapshot has no buckets at all.
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

std::int64_t HistogramSnapshot::quantile_ns(double fraction) const {
  if (count_ == 0) return 0;
  const auto rank = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(count_))));
  // The largest value is known exactly, its bucket is not needed.
  if (rank >= count_) return max_ns_;
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const std::int64_t low = HistogramBuckets::lower_bound_ns(i);
    // The last bucket has no upper bound.
    if (i + 1 == HistogramBuckets::kCount) return max_ns_;
    const std::int64_t high = HistogramBuckets::lower_bound_ns(i + 1) - 1;
    return std::min(low + (high - low) / 2, max_ns_);
  }
  return max_ns_;
}

void Histogram::record(std::int64_t value_ns) {
  const std::int64_t value = std::max<std::int64_t>(value_ns, 0);
  add_alone(counts_[HistogramBuckets::index_of(value)], 1);
  add_alone(sum_ns_, value);
  if (value > max_ns_.load(std::memory_order_relaxed)) {
    max_ns_.store(value, std::memory_order_relaxed);
  }
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot snapshot;
  snapshot.sum_ns_ = sum_ns_.load(std::memory_order_relaxed);
  snapshot.max_ns_ = max_ns_.load(std::memory_order_relaxed);
  snapshot.counts_.reserve(counts_.size());
  for (const auto& count : counts_) {
    snapshot.counts_.push_back(count.load(std::memory_order_relaxed));
    // Counted from the buckets, so that quantiles agree with them while a writer adds.
    snapshot.count_ += snapshot.counts_.back();
  }
  return snapshot;
}

}  // namespace sluice::runtime
