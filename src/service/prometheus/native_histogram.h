// Histograms of Prometheus whose buckets are powers of a root of two.
#pragma once

#include <cstdint>
#include <map>

#include "runtime/statistics/histogram.h"
#include "telemetry/proto_writer.h"

namespace sluice::service {

/// Eight buckets per power of two, as many as the runtime has: schema 3. Bucket i has values from
/// 2^((i-1)/8) seconds, without it, to 2^(i/8), with it.
inline constexpr int kNativeSchema = 3;

/// Counts by native bucket; each of the runtime's buckets counts where its middle lies.
std::map<int, std::int64_t> native_counts(const runtime::HistogramSnapshot& histogram);

/// Writes the native fields of an io.prometheus.client.Histogram.
void write_native(const runtime::HistogramSnapshot& histogram, telemetry::ProtoWriter& to);

}  // namespace sluice::service
