#include "service/prometheus/native_histogram.h"

#include <cmath>

namespace sluice::service {
namespace {

using runtime::HistogramBuckets;

// The numbers of the fields, as Prometheus's metrics.proto has them.
constexpr std::uint32_t kSchema = 5;
constexpr std::uint32_t kZeroThreshold = 6;
constexpr std::uint32_t kZeroCount = 7;
constexpr std::uint32_t kPositiveSpan = 12;
constexpr std::uint32_t kPositiveDelta = 13;

/// The clock's step. Shorter times share one bucket.
constexpr double kLeastSeconds = 1e-9;

std::int64_t upper_bound_ns(std::size_t bucket) {
  return bucket + 1 < HistogramBuckets::kCount ? HistogramBuckets::lower_bound_ns(bucket + 1)
                                               : 2 * HistogramBuckets::lower_bound_ns(bucket);
}

}  // namespace

std::map<int, std::int64_t> native_counts(const runtime::HistogramSnapshot& histogram) {
  std::map<int, std::int64_t> counts;
  // The first bucket is that of zero.
  for (std::size_t i = 1; i < histogram.counts().size(); ++i) {
    if (histogram.counts()[i] == 0) continue;
    const auto sum_ns =
        static_cast<double>(HistogramBuckets::lower_bound_ns(i) + upper_bound_ns(i));
    const double buckets_per_octave = 1 << kNativeSchema;
    const double middle_s = sum_ns / 2e9;
    counts[static_cast<int>(std::ceil(std::log2(middle_s) * buckets_per_octave))] +=
        histogram.counts()[i];
  }
  return counts;
}

void write_native(const runtime::HistogramSnapshot& histogram, telemetry::ProtoWriter& to) {
  const auto counts = native_counts(histogram);
  const std::int64_t zeros = histogram.counts().empty() ? 0 : histogram.counts().front();
  to.signed_number(kSchema, kNativeSchema);
  to.real(kZeroThreshold, kLeastSeconds);
  to.number(kZeroCount, static_cast<std::uint64_t>(zeros));
  // A span is a run of buckets without a gap. Its offset is the index of its first bucket, or the
  // gap to the span before.
  int next = 0;
  for (auto it = counts.begin(); it != counts.end();) {
    const int first = it->first;
    std::uint32_t length = 0;
    for (; it != counts.end() && it->first == first + static_cast<int>(length); ++it) ++length;
    telemetry::ProtoWriter span;
    span.signed_number(1, first - next);
    span.number(2, length);
    to.message(kPositiveSpan, span);
    next = first + static_cast<int>(length);
  }
  std::int64_t before = 0;
  for (const auto& [bucket, count] : counts) {
    to.signed_number(kPositiveDelta, count - before);
    before = count;
  }
}

}  // namespace sluice::service
