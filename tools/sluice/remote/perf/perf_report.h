// Measurements as a table, CSV and JSON.
#pragma once

#include <span>
#include <string>

#include "perf/measure.h"

namespace sluice::tool {

/// Columns, one row for each measurement; below it what failed, was not sent, was not stable, or
/// was the generator's.
std::string perf_table(std::span<const perf::Measurement> measurements);
/// A head, and a line for each; latencies in microseconds.
std::string perf_csv(std::span<const perf::Measurement> measurements);
/// A list with an object for each, of the names of the CSV.
std::string perf_json(std::span<const perf::Measurement> measurements);

}  // namespace sluice::tool
