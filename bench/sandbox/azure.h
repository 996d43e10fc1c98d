// Readers of the traces of Azure Functions (https://github.com/Azure/AzurePublicDataset):
// invocations and durations of 2019 as tables per minute, invocations of 2021 one by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::bench {

/// A row of invocations_per_function_md.anon.dNN.csv: one function on one day.
struct AzureCounts {
  std::string owner;
  std::string app;
  std::string function;
  std::string trigger;               ///< "http", "timer", "queue", ...
  std::vector<std::int64_t> counts;  ///< by minute, 1440; taken after the execution
};

/// A row of function_durations_percentiles.anon.dNN.csv, in milliseconds. Averages are of 30 s, and
/// exclude cold starts.
struct AzureDurations {
  std::string function;
  double average_ms = 0;
  std::int64_t count = 0;
  double minimum_ms = 0;
  double maximum_ms = 0;
};

/// A row of AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt.
struct AzureInvocation {
  std::string app;
  std::string function;  ///< unique inside its app
  double start_s = 0;    ///< end_timestamp - duration, since the trace began
  double duration_s = 0;
};

inline constexpr std::size_t kMaxTraceBytes = std::size_t{4} << 30;
inline constexpr std::size_t kMaxTraceRows = 50'000'000;

/// Each reads the whole text of a file, with the header in its first line.
/// Fails: kInvalidArgument, naming the line and the column: another header, a row of another
///        length, a field that is no number or out of range; kResourceExhausted over the limits.
Result<std::vector<AzureCounts>> parse_azure_counts(std::string_view text);
Result<std::vector<AzureDurations>> parse_azure_durations(std::string_view text);
/// Sorted by start.
Result<std::vector<AzureInvocation>> parse_azure_invocations(std::string_view text);

/// Whether `text` begins with the header of parse_azure_invocations.
bool is_azure_invocations(std::string_view text);

/// The invocations of all functions together, per minute.
std::vector<std::int64_t> minutes_of(const std::vector<AzureCounts>& rows);

}  // namespace sluice::bench
