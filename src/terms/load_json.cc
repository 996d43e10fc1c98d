#include "terms/load_json.h"

#include <limits>

namespace sluice::terms {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();  // as clients may send

/// Nothing for an absent field.
template <typename Number>
Status read(const JsonValue& value, std::string_view name, std::int64_t most,
            std::optional<Number>& to) {
  if (!value.has(name)) return ok_status();
  to = static_cast<Number>(SLUICE_TRY(value.int_or(name, 0, 0, most)));
  return ok_status();
}

nlohmann::ordered_json to_json(const FunctionOptions& options) {
  return {{"share", options.share},
          {"priority", options.priority},
          {"memory_bytes", options.memory_bytes},
          {"keep_warm_ns", options.keep_warm_ns},
          {"batch_rows", options.batch_rows}};
}

Result<FunctionOptions> function_from_json(const JsonValue& value) {
  constexpr std::int64_t kMostPriority = std::numeric_limits<std::int32_t>::max();
  const FunctionOptions standard;
  FunctionOptions options;
  const auto read = [&](std::string_view name, std::int64_t otherwise, std::int64_t least,
                        std::int64_t most) { return value.int_or(name, otherwise, least, most); };
  options.share =
      static_cast<std::int32_t>(SLUICE_TRY(read("share", standard.share, 1, kMaxWeight)));
  options.priority = static_cast<std::int32_t>(
      SLUICE_TRY(read("priority", standard.priority, -kMostPriority - 1, kMostPriority)));
  options.memory_bytes = SLUICE_TRY(read("memory_bytes", standard.memory_bytes, 0, kMost));
  options.keep_warm_ns = SLUICE_TRY(read("keep_warm_ns", standard.keep_warm_ns, 0, kMost));
  options.batch_rows = static_cast<std::int32_t>(
      SLUICE_TRY(read("batch_rows", standard.batch_rows, 0, kMaxBatchRows)));
  return options;
}

}  // namespace

nlohmann::ordered_json to_json(const LoadOptions& options) {
  nlohmann::ordered_json json = {{"name", options.name},
                                 {"depth", options.depth},
                                 {"weight", options.weight},
                                 {"nan_policy", static_cast<int>(options.nan_policy)}};
  if (options.queue_limit) json["queue_limit"] = *options.queue_limit;
  if (options.max_recorded_bytes) json["max_recorded_bytes"] = *options.max_recorded_bytes;
  if (options.max_run_ns) json["max_run_ns"] = *options.max_run_ns;
  if (options.batching) {
    json["batch_rows"] = options.batching->rows;
    json["max_delay_ns"] = options.batching->max_delay_ns;
  }
  if (options.seed) json["seed"] = static_cast<std::int64_t>(*options.seed);  // its bits
  if (options.isolation) json["isolation"] = isolation_name(*options.isolation);
  if (options.function) json["function"] = to_json(*options.function);
  return json;
}

Result<LoadOptions> load_options_from_json(const JsonValue& value) {
  LoadOptions options;
  options.name = SLUICE_TRY(value.text_or("name", ""));
  options.depth = static_cast<int>(SLUICE_TRY(value.int_or("depth", 0, 0, kMaxDepth)));
  options.weight = static_cast<int>(SLUICE_TRY(value.int_or("weight", 1, 1, kMaxWeight)));
  const auto flags_nan = SLUICE_TRY(value.int_or("flag_nan", 0, 0, 1));  // of older files
  options.nan_policy =
      static_cast<NanPolicy>(SLUICE_TRY(value.int_or("nan_policy", flags_nan, 0, 2)));
  SLUICE_TRY(read(value, "queue_limit", kMaxWaiting, options.queue_limit));
  SLUICE_TRY(read(value, "max_recorded_bytes", kMost, options.max_recorded_bytes));
  SLUICE_TRY(read(value, "max_run_ns", kMost, options.max_run_ns));
  if (value.has("batch_rows")) {
    options.batching = BatchOptions{SLUICE_TRY(value.int_or("batch_rows", 0, 0, kMaxBatchRows)),
                                    SLUICE_TRY(value.int_or("max_delay_ns", 0, 0, kMost))};
  }
  if (value.has("seed")) {
    const JsonValue seed = SLUICE_TRY(value.field("seed"));
    options.seed = static_cast<std::uint64_t>(SLUICE_TRY(seed.as_int(INT64_MIN, INT64_MAX)));
  }
  const std::string isolation = SLUICE_TRY(value.text_or("isolation", ""));
  if (!isolation.empty()) options.isolation = SLUICE_TRY(parse_isolation(isolation));
  if (value.has("function")) {
    options.function = SLUICE_TRY(function_from_json(SLUICE_TRY(value.field("function"))));
  }
  return options;
}

}  // namespace sluice::terms
