#include "azure.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace sluice::bench {
namespace {

constexpr std::size_t kMinutes = 1440;
constexpr std::string_view kCountsHeader = "HashOwner,HashApp,HashFunction,Trigger,1";
constexpr std::string_view kDurationsHeader =
    "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum";
constexpr std::string_view kInvocationsHeader = "app,func,end_timestamp,duration";
/// No trace of two weeks has a larger number; sums of all rows stay far below 2^63.
constexpr double kMaxNumber = 1e11;

/// One line, as fields between commas. The files quote nothing.
struct Row {
  std::size_t line = 0;
  std::vector<std::string_view> fields;

  Status refuse(std::size_t column, std::string_view why) const {
    return invalid_argument("line {}, column {}: \"{}\" {}", line, column + 1,
                            fields[column].substr(0, 40), why);
  }
  Result<double> number(std::size_t column) const {
    const std::string_view field = fields[column];
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
      return refuse(column, "is no number");
    }
    if (value < 0 || value > kMaxNumber) return refuse(column, "is out of range");
    return value;
  }
  Result<std::int64_t> count(std::size_t column) const {
    const double value = SLUICE_TRY(number(column));
    if (value != std::floor(value)) return refuse(column, "is no whole number");
    return static_cast<std::int64_t>(value);
  }
  std::string text(std::size_t column) const { return std::string(fields[column]); }
};

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

/// Calls `take` for each row, which has as many fields as the header.
Status for_each_row(std::string_view text, std::string_view header,
                    const std::function<Status(const Row&)>& take) {
  if (text.size() > kMaxTraceBytes) {
    return make_error(Code::kResourceExhausted, "a trace of {} bytes; at most {}", text.size(),
                      kMaxTraceBytes);
  }
  Row row;
  const std::string_view first = take_line(text);
  split(first, row.fields);
  const std::size_t num_columns = row.fields.size();
  if (!first.starts_with(header)) {
    return invalid_argument("line 1: the header is \"{}\", expected \"{}\"", first.substr(0, 80),
                            header);
  }
  for (row.line = 2; !text.empty(); ++row.line) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    if (row.line > kMaxTraceRows) {
      return make_error(Code::kResourceExhausted, "more than {} rows", kMaxTraceRows);
    }
    split(line, row.fields);
    if (row.fields.size() != num_columns) {
      return invalid_argument("line {}: {} fields, the header has {}", row.line, row.fields.size(),
                              num_columns);
    }
    SLUICE_TRY(take(row));
  }
  return ok_status();
}

}  // namespace

bool is_azure_invocations(std::string_view text) { return text.starts_with(kInvocationsHeader); }

Result<std::vector<AzureCounts>> parse_azure_counts(std::string_view text) {
  std::vector<AzureCounts> rows;
  const auto take = [&](const Row& row) -> Status {
    if (row.fields.size() != 4 + kMinutes) {
      return invalid_argument("line 1: {} columns of minutes, not {}", row.fields.size() - 4,
                              kMinutes);
    }
    AzureCounts one = {row.text(0), row.text(1), row.text(2), row.text(3), {}};
    one.counts.reserve(kMinutes);
    for (std::size_t i = 0; i < kMinutes; ++i) {
      one.counts.push_back(SLUICE_TRY(row.count(4 + i)));
    }
    rows.push_back(std::move(one));
    return ok_status();
  };
  SLUICE_TRY(for_each_row(text, kCountsHeader, take));
  return rows;
}

Result<std::vector<AzureDurations>> parse_azure_durations(std::string_view text) {
  std::vector<AzureDurations> rows;
  const auto take = [&](const Row& row) -> Status {
    AzureDurations one;
    one.function = row.text(2);
    one.average_ms = SLUICE_TRY(row.number(3));
    one.count = SLUICE_TRY(row.count(4));
    one.minimum_ms = SLUICE_TRY(row.number(5));
    one.maximum_ms = SLUICE_TRY(row.number(6));
    if (one.minimum_ms > one.maximum_ms) return row.refuse(5, "is above the maximum");
    rows.push_back(std::move(one));
    return ok_status();
  };
  SLUICE_TRY(for_each_row(text, kDurationsHeader, take));
  return rows;
}

Result<std::vector<AzureInvocation>> parse_azure_invocations(std::string_view text) {
  std::vector<AzureInvocation> rows;
  const auto take = [&](const Row& row) -> Status {
    AzureInvocation one = {row.text(0), row.text(1), 0, 0};
    one.duration_s = SLUICE_TRY(row.number(3));
    // An invocation that was under way when the trace began starts with it.
    one.start_s = std::max(0.0, SLUICE_TRY(row.number(2)) - one.duration_s);
    rows.push_back(std::move(one));
    return ok_status();
  };
  SLUICE_TRY(for_each_row(text, kInvocationsHeader, take));
  std::ranges::stable_sort(rows, {}, &AzureInvocation::start_s);
  return rows;
}

std::vector<std::int64_t> minutes_of(const std::vector<AzureCounts>& rows) {
  std::vector<std::int64_t> sums(kMinutes, 0);
  for (const AzureCounts& row : rows) {
    for (std::size_t i = 0; i < kMinutes; ++i) sums[i] += row.counts[i];
  }
  return sums;
}

}  // namespace sluice::bench
