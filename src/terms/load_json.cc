#include "terms/load_json.h"

namespace sluice::terms {
namespace {

template <typename Options>
void write_fields(const Options& options, nlohmann::ordered_json& json) {
  Options::visit_fields([&](const Field& field, auto of) {
    if (const auto number = number_of(of(options))) json[field.name] = *number;
  });
}

/// An absent field keeps its default.
template <typename Options>
Status read_fields(const JsonValue& value, Options& options) {
  Status status;
  Options::visit_fields([&](const Field& field, auto of) {
    if (!status.is_ok() || !value.has(field.name)) return;
    const auto number = value.int_or(field.name, 0, field.least, field.most);
    status = number.status();
    if (number.is_ok()) set_number(of(options), *number);
  });
  return status;
}

}  // namespace

nlohmann::ordered_json to_json(const LoadOptions& options) {
  nlohmann::ordered_json json = {{"name", options.name},
                                 {"nan_policy", static_cast<int>(options.nan_policy)}};
  write_fields(options, json);
  if (options.batching) {
    json["batch_rows"] = options.batching->rows;
    json["max_delay_ns"] = options.batching->max_delay_ns;
  }
  if (options.seed) json["seed"] = static_cast<std::int64_t>(*options.seed);  // its bits
  if (options.isolation) json["isolation"] = isolation_name(*options.isolation);
  if (options.function) write_fields(*options.function, json["function"]);
  return json;
}

Result<LoadOptions> load_options_from_json(const JsonValue& value) {
  LoadOptions options;
  options.name = SLUICE_TRY(value.text_or("name", ""));
  SLUICE_TRY(read_fields(value, options));
  const auto flags_nan = SLUICE_TRY(value.int_or("flag_nan", 0, 0, 1));  // of older files
  options.nan_policy =
      static_cast<NanPolicy>(SLUICE_TRY(value.int_or("nan_policy", flags_nan, 0, 2)));
  if (value.has("batch_rows")) {
    options.batching = BatchOptions{SLUICE_TRY(value.int_or("batch_rows", 0, 0, kMaxBatchRows)),
                                    SLUICE_TRY(value.int_or("max_delay_ns", 0, 0, kAnyNumber))};
  }
  if (value.has("seed")) {
    const JsonValue seed = SLUICE_TRY(value.field("seed"));
    options.seed = static_cast<std::uint64_t>(SLUICE_TRY(seed.as_int(INT64_MIN, INT64_MAX)));
  }
  const std::string isolation = SLUICE_TRY(value.text_or("isolation", ""));
  if (!isolation.empty()) options.isolation = SLUICE_TRY(parse_isolation(isolation));
  if (value.has("function")) {
    SLUICE_TRY(read_fields(SLUICE_TRY(value.field("function")), options.function.emplace()));
  }
  return options;
}

}  // namespace sluice::terms
