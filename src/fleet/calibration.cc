#include "fleet/calibration.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/json/json_reader.h"
#include "fleet/service_times.h"
#include "terms/load.h"

namespace sluice::fleet {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFormat = "sluice.plan.2";
// As many requests as a trace may have, one after another, end before 2^63 nanoseconds.
constexpr std::int64_t kLongestNs = 100'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostRequests = std::int64_t{1} << 40;
constexpr std::int64_t kMostRows = 1 << 20;
constexpr std::size_t kMaxRowTimes = 100;
constexpr std::size_t kMaxRuns = 100;
constexpr double kMillion = 1e6;

ordered_json to_json(const Figures& from) {
  return {{"p50_ns", from.p50_ns},
          {"p99_ns", from.p99_ns},
          {"shed_per_million", std::llround(from.shed * kMillion)}};
}

ordered_json to_json(const CalibrationRun& from) {
  return {{"requests_per_million_seconds", std::llround(from.per_second * kMillion)},
          {"deadline_ns", from.deadline_ns},
          {"num_requests", from.num_requests},
          {"seed", from.seed},
          {"measured", to_json(from.measured)},
          {"simulated", to_json(from.simulated)}};
}

ordered_json to_json(const CalibratedModel& from) {
  ordered_json compute = ordered_json::array();
  for (const auto& [bound_ns, count] : from.compute) {
    compute.push_back({{"from_ns", bound_ns}, {"count", count}});
  }
  ordered_json row_times = ordered_json::array();
  for (const auto& [rows, compute_ns] : from.row_times) {
    row_times.push_back({{"rows", rows}, {"compute_ns", compute_ns}});
  }
  ordered_json runs = ordered_json::array();
  for (const CalibrationRun& run : from.runs) runs.push_back(to_json(run));
  return {{"name", from.name},
          {"compute", std::move(compute)},
          {"compute_ns", from.compute_ns},
          {"row_times", std::move(row_times)},
          {"gap_ns", from.gap_ns},
          {"request_ns", from.request_ns},
          {"overhead_ns", from.overhead_ns},
          {"depth", from.depth},
          {"queue_limit", from.queue_limit},
          {"batch_rows", from.batch_rows},
          {"max_delay_ns", from.max_delay_ns},
          {"memory_bytes", from.memory_bytes},
          {"load_ns", from.load_ns},
          {"runs", std::move(runs)}};
}

Result<std::int64_t> number(const JsonValue& of, const char* name, std::int64_t least,
                            std::int64_t most) {
  return SLUICE_TRY(of.field(name)).as_int(least, most);
}

Result<std::int64_t> duration(const JsonValue& of, const char* name) {
  return number(of, name, 0, kLongestNs);
}

Result<Figures> figures_of(const JsonValue& from) {
  Figures figures;
  figures.p50_ns = SLUICE_TRY(duration(from, "p50_ns"));
  figures.p99_ns = SLUICE_TRY(duration(from, "p99_ns"));
  const std::int64_t shed =
      SLUICE_TRY(number(from, "shed_per_million", 0, static_cast<std::int64_t>(kMillion)));
  figures.shed = static_cast<double>(shed) / kMillion;
  return figures;
}

Result<CalibrationRun> run_of(const JsonValue& from) {
  CalibrationRun run;
  const std::int64_t rate =
      SLUICE_TRY(number(from, "requests_per_million_seconds", 1, kNoDeadline));
  run.per_second = static_cast<double>(rate) / kMillion;
  run.deadline_ns = SLUICE_TRY(duration(from, "deadline_ns"));
  run.num_requests = SLUICE_TRY(number(from, "num_requests", 1, kMostRequests));
  run.seed = static_cast<std::uint64_t>(SLUICE_TRY(number(from, "seed", 0, kNoDeadline)));
  run.measured = SLUICE_TRY(figures_of(SLUICE_TRY(from.field("measured"))));
  run.simulated = SLUICE_TRY(figures_of(SLUICE_TRY(from.field("simulated"))));
  return run;
}

Result<std::vector<terms::Latency::Bucket>> buckets_of(const JsonValue& from) {
  std::vector<terms::Latency::Bucket> buckets;
  // ServiceTimes::create says what is too much.
  constexpr std::size_t kMostRead = 1000;
  for (const JsonValue& one : SLUICE_TRY(from.as_items(kMostRead))) {
    const std::int64_t bound_ns = SLUICE_TRY(number(one, "from_ns", 0, kNoDeadline));
    buckets.push_back({bound_ns, SLUICE_TRY(number(one, "count", 1, kNoDeadline))});
  }
  return buckets;
}

Result<std::vector<RowTime>> row_times_of(const JsonValue& from, std::int32_t batch_rows) {
  std::vector<RowTime> times;
  std::int64_t least = 1;
  for (const JsonValue& one : SLUICE_TRY(from.items_or_none("row_times", kMaxRowTimes))) {
    const std::int64_t rows = SLUICE_TRY(number(one, "rows", least, batch_rows - 1));
    const std::int64_t compute_ns = SLUICE_TRY(number(one, "compute_ns", 1, kLongestNs));
    times.push_back({static_cast<std::int32_t>(rows), compute_ns});
    least = rows + 1;
  }
  return times;
}

Result<CalibratedModel> model_of(const JsonValue& from) {
  CalibratedModel model;
  model.name = SLUICE_TRY(SLUICE_TRY(from.field("name")).as_text());
  model.compute = SLUICE_TRY(buckets_of(SLUICE_TRY(from.field("compute"))));
  model.compute_ns = SLUICE_TRY(number(from, "compute_ns", 1, kLongestNs));
  const auto times = ServiceTimes::create(model.compute, model.compute_ns);
  if (!times.is_ok()) return times.status().with_context(from.path() + ".compute");
  model.gap_ns = SLUICE_TRY(duration(from, "gap_ns"));
  model.request_ns = SLUICE_TRY(duration(from, "request_ns"));
  model.overhead_ns = SLUICE_TRY(duration(from, "overhead_ns"));
  const auto small = [&](const char* name, std::int64_t least, std::int64_t most) {
    return number(from, name, least, most);
  };
  model.depth = static_cast<std::int32_t>(SLUICE_TRY(small("depth", 1, terms::kMaxDepth)));
  model.queue_limit =
      static_cast<std::int32_t>(SLUICE_TRY(small("queue_limit", 0, terms::kMaxWaiting)));
  model.batch_rows = static_cast<std::int32_t>(SLUICE_TRY(small("batch_rows", 1, kMostRows)));
  model.row_times = SLUICE_TRY(row_times_of(from, model.batch_rows));
  model.max_delay_ns = SLUICE_TRY(duration(from, "max_delay_ns"));
  model.memory_bytes = SLUICE_TRY(number(from, "memory_bytes", 0, kMostBytes));
  model.load_ns = SLUICE_TRY(duration(from, "load_ns"));
  for (const JsonValue& run : SLUICE_TRY(from.items_or_none("runs", kMaxRuns))) {
    model.runs.push_back(SLUICE_TRY(run_of(run)));
  }
  return model;
}

double relative_error(double measured, double simulated) {
  if (measured == simulated) return 0;
  return measured > 0 ? std::abs(simulated - measured) / measured : 1;
}

}  // namespace

double CalibrationRun::error() const {
  const double p50 =
      relative_error(static_cast<double>(measured.p50_ns), static_cast<double>(simulated.p50_ns));
  const double p99 =
      relative_error(static_cast<double>(measured.p99_ns), static_cast<double>(simulated.p99_ns));
  const double shed =
      std::abs(simulated.shed - measured.shed) / std::max(measured.shed, kLeastShed);
  return std::max({p50, p99, shed});
}

double CalibratedModel::error() const {
  double most = runs.empty() ? 1 : 0;
  for (const CalibrationRun& run : runs) most = std::max(most, run.error());
  return most;
}

double CalibratedModel::run_ns(std::int64_t rows) const {
  if (batch_rows == 1 || row_times.empty()) return static_cast<double>(compute_ns);
  const auto full = static_cast<double>(compute_ns);
  if (rows >= batch_rows) return full * static_cast<double>(rows) / batch_rows;
  const auto above = std::ranges::upper_bound(row_times, rows, {}, &RowTime::rows);
  const auto& [low_rows, low_ns] = above == row_times.begin() ? *above : *(above - 1);
  const auto [high_rows, high_ns] =
      above == row_times.end() ? RowTime{batch_rows, compute_ns} : *above;
  const auto at_low = static_cast<double>(low_ns);
  if (rows <= low_rows) return at_low;
  const double share = static_cast<double>(rows - low_rows) / (high_rows - low_rows);
  return at_low + share * (static_cast<double>(high_ns) - at_low);
}

double CalibratedModel::gap_after_ns(std::int64_t num_requests) const {
  return static_cast<double>(gap_ns) +
         static_cast<double>(request_ns) * static_cast<double>(num_requests - 1);
}

std::string calibration_json(const std::vector<CalibratedModel>& models) {
  ordered_json all = ordered_json::array();
  for (const CalibratedModel& model : models) all.push_back(to_json(model));
  const ordered_json file = {{"format", kFormat}, {"models", std::move(all)}};
  return file.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<std::vector<CalibratedModel>> parse_calibration(std::string_view text) {
  constexpr int kDepth = 8;
  const nlohmann::json json = SLUICE_TRY(parse_ordered_json(text, kDepth));
  const JsonValue file(json, "");
  if (SLUICE_TRY(SLUICE_TRY(file.field("format")).as_text()) != kFormat) {
    return invalid_argument(
        "format: expected \"{}\"; `sluice plan FILE --calibrate MODEL` makes such a file", kFormat);
  }
  std::vector<CalibratedModel> models;
  std::set<std::string> names;
  const JsonValue list = SLUICE_TRY(file.field("models"));
  for (const JsonValue& one : SLUICE_TRY(list.as_items(kMaxCalibratedModels))) {
    models.push_back(SLUICE_TRY(model_of(one)));
    if (!names.insert(models.back().name).second) {
      return invalid_argument("{}.name: \"{}\" comes twice", one.path(), models.back().name);
    }
  }
  if (models.empty()) return invalid_argument("models: there are none");
  return models;
}

Result<std::vector<CalibratedModel>> read_calibration(const std::string& path) {
  const std::string text = SLUICE_TRY(read_text_file(path, std::int64_t{kMaxCalibrationBytes}));
  return parse_calibration(text).with_context(path);
}

}  // namespace sluice::fleet
