#include "fleet/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text/number.h"
#include "base/utf8.h"
#include "fleet/service_times.h"
#include "perf/arrival_times.h"
#include "telemetry/traffic_file.h"

namespace sluice::fleet {
namespace {

constexpr std::string_view kHeads[] = {"arrival_s,model", "arrival_s,model,rows",
                                       "arrival_s,model,rows,deadline_s"};
constexpr double kMostSeconds = 1e8;  // three years
constexpr double kNsPerSecond = 1e9;
constexpr std::size_t kLongestName = 256;

/// Numbers models as they come.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}

  /// Fails: kResourceExhausted.
  Result<std::uint32_t> number_of(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    if (names_.size() == kMaxTraceModels) {
      return make_error(Code::kResourceExhausted, "more than {} models", kMaxTraceModels);
    }
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

/// Takes the text up to the next separator, and the separator.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::string_view take_line(std::string_view& rest) {
  std::string_view line = take(rest, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::int64_t> nanoseconds(std::string_view text) {
  const auto seconds = to_number<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= kMostSeconds)) return std::nullopt;
  return static_cast<std::int64_t>(*seconds * kNsPerSecond);
}

std::optional<std::int32_t> row_count(std::string_view text) {
  const auto rows = to_number<std::int32_t>(text);
  return rows && *rows >= 1 && *rows <= kMaxRows ? rows : std::nullopt;
}

/// Fails: with what is wrong of the line.
Result<Arrival> parse_line(std::string_view line, std::size_t num_columns, Names& names) {
  if (static_cast<std::size_t>(std::ranges::count(line, ',')) + 1 != num_columns) {
    return invalid_argument("expected {} columns", num_columns);
  }
  Arrival arrival;
  const auto time_ns = nanoseconds(take(line, ','));
  if (!time_ns) return invalid_argument("arrival_s: expected seconds from 0 to {:g}", kMostSeconds);
  arrival.time_ns = *time_ns;
  const std::string_view model = take(line, ',');
  if (model.empty() || model.size() > kLongestName) {
    return invalid_argument("model: expected 1 to {} bytes", kLongestName);
  }
  arrival.model = SLUICE_TRY(names.number_of(model));
  if (num_columns > 2) {
    const auto rows = row_count(take(line, ','));
    if (!rows) return invalid_argument("rows: expected a number from 1 to {}", kMaxRows);
    arrival.rows = *rows;
  }
  if (num_columns > 3) {
    const auto deadline_ns = nanoseconds(take(line, ','));
    if (!deadline_ns) return invalid_argument("deadline_s: expected seconds, or 0 for none");
    arrival.deadline_ns = *deadline_ns;
  }
  return arrival;
}

void sort(Trace& trace) { std::ranges::stable_sort(trace.arrivals, {}, &Arrival::time_ns); }

Result<Trace> from_recording(std::string_view file) {
  Trace trace;
  Names names(trace.models);
  for (const telemetry::RecordedRequest& request : SLUICE_TRY(telemetry::parse_traffic(file))) {
    Arrival arrival = {request.arrival_ns, SLUICE_TRY(names.number_of(request.model))};
    if (!request.inputs.empty() && !request.inputs.front().dims.empty()) {
      const std::int64_t rows = request.inputs.front().dims.front();
      arrival.rows = static_cast<std::int32_t>(std::clamp<std::int64_t>(rows, 1, kMaxRows));
    }
    trace.arrivals.push_back(arrival);
  }
  if (trace.arrivals.empty()) return invalid_argument("the recording has no requests");
  sort(trace);
  const std::int64_t first_ns = trace.arrivals.front().time_ns;
  for (Arrival& arrival : trace.arrivals) arrival.time_ns -= first_ns;
  return trace;
}

/// How the rate goes up and down, as a factor of the average.
class DayOfBursts {
 public:
  static constexpr double kSwing = 0.6;
  static constexpr double kBurst = 2;
  /// The rate's average, with a twentieth of the time in bursts.
  static constexpr double kMean = 1 + (kBurst - 1) * 0.05;
  static constexpr double kMost = (1 + kSwing) * kBurst / kMean;

  DayOfBursts(double day_seconds, std::uint64_t seed) : day_s_(day_seconds), random_(seed) {
    ends_s_ = pause_s();
  }

  /// Requires: times do not go back.
  double factor_at(double now_s) {
    while (now_s >= ends_s_) {
      is_burst_ = !is_burst_;
      ends_s_ += is_burst_ ? exponential(day_s_ / 200) : pause_s();
    }
    const double wave = 1 - kSwing * std::cos(2 * std::numbers::pi * now_s / day_s_);
    return wave * (is_burst_ ? kBurst : 1) / kMean;
  }

 private:
  double pause_s() { return exponential(day_s_ / 200 * 19); }
  double exponential(double mean) { return -mean * std::log1p(-uniform(random_)); }

  const double day_s_;
  Random random_;
  bool is_burst_ = false;
  double ends_s_ = 0;
};

/// Sums of the shares of models by rank.
std::vector<double> shares_of(int num_models) {
  std::vector<double> sums;
  double sum = 0;
  for (int rank = 1; rank <= num_models; ++rank) sums.push_back(sum += 1.0 / rank);
  for (double& one : sums) one /= sum;
  sums.back() = 1;
  return sums;
}

Status check(const GeneratedLoad& load) {
  const bool is_sound = load.per_second > 0 && load.seconds > 0 && load.day_seconds >= 0 &&
                        load.num_models >= 1 && load.deadline_ns >= 0;
  if (!is_sound || load.seconds > kMostSeconds) {
    return invalid_argument("a generated load has a rate, seconds up to {:g} and models above 0",
                            kMostSeconds);
  }
  if (std::cmp_greater(load.num_models, kMaxTraceModels)) {
    return make_error(Code::kResourceExhausted, "at most {} models", kMaxTraceModels);
  }
  if (load.per_second * load.seconds > 0.99 * static_cast<double>(kMaxArrivals)) {
    return make_error(Code::kResourceExhausted,
                      "{:g} requests/s for {:g} s are more than {} requests; take fewer seconds",
                      load.per_second, load.seconds, kMaxArrivals);
  }
  return ok_status();
}

std::string origin_of(const GeneratedLoad& load) {
  const std::string day =
      load.day_seconds > 0 ? fmt::format(", a day of {:g} s with bursts", load.day_seconds) : "";
  return fmt::format("Poisson, {:g}/s for {:g} s{}, {} of models, seed {}", load.per_second,
                     load.seconds, day, load.num_models, load.seed);
}

}  // namespace

double Trace::seconds() const {
  return arrivals.empty() ? 0 : static_cast<double>(arrivals.back().time_ns) / kNsPerSecond;
}

Result<Trace> parse_trace(std::string_view text) {
  text = without_mark(text);
  const std::string_view head = take_line(text);
  const auto* const found = std::ranges::find(kHeads, head);
  if (found == std::end(kHeads)) {
    return invalid_argument("line 1: expected \"{}\", and columns {} if there are more", kHeads[0],
                            "rows and deadline_s");
  }
  const auto num_columns = static_cast<std::size_t>(found - kHeads) + 2;
  Trace trace;
  Names names(trace.models);
  for (std::size_t number = 2; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty()) continue;
    if (trace.arrivals.size() == kMaxArrivals) {
      return make_error(Code::kResourceExhausted, "more than {} requests", kMaxArrivals);
    }
    auto arrival = parse_line(line, num_columns, names);
    if (!arrival.is_ok()) return arrival.status().with_context(fmt::format("line {}", number));
    trace.arrivals.push_back(*arrival);
  }
  if (trace.arrivals.empty()) return invalid_argument("the trace has no requests");
  sort(trace);
  return trace;
}

Result<Trace> read_trace(const std::string& path) {
  const std::string file = SLUICE_TRY(read_text_file(path, kMaxTraceBytes));
  const bool is_recording = file.starts_with(telemetry::kTrafficMagic);
  auto trace = is_recording ? from_recording(file) : parse_trace(file);
  if (!trace.is_ok()) return trace.status().with_context(path);
  trace->origin = path;
  return trace;
}

Result<Trace> generate_trace(const GeneratedLoad& load, const std::string& model) {
  SLUICE_TRY(check(load));
  Trace trace;
  trace.origin = origin_of(load);
  for (int i = 0; i < load.num_models; ++i) {
    trace.models.push_back(load.num_models == 1 ? model : fmt::format("{}/{}", model, i));
  }
  const std::vector<double> shares = shares_of(load.num_models);
  const bool has_day = load.day_seconds > 0;
  DayOfBursts day(has_day ? load.day_seconds : 1, load.seed + 1);
  Random random(load.seed + 2);
  // Thinning: of a process at the highest rate, each request stays with the share of its moment.
  perf::ArrivalTimes times(load.per_second * (has_day ? DayOfBursts::kMost : 1), true, load.seed);
  const auto end_ns = static_cast<std::int64_t>(load.seconds * kNsPerSecond);
  for (std::int64_t now_ns = times.next_ns(); now_ns < end_ns; now_ns = times.next_ns()) {
    const double now_s = static_cast<double>(now_ns) / kNsPerSecond;
    if (has_day && uniform(random) * DayOfBursts::kMost >= day.factor_at(now_s)) continue;
    if (trace.arrivals.size() == kMaxArrivals) break;
    const auto rank = std::ranges::upper_bound(shares, uniform(random)) - shares.begin();
    trace.arrivals.push_back({now_ns, static_cast<std::uint32_t>(rank), 1, load.deadline_ns});
  }
  if (trace.arrivals.empty()) return invalid_argument("the load has no requests in its seconds");
  return trace;
}

}  // namespace sluice::fleet
