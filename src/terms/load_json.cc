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

nlohmann::ordered_json json_of(const ProgramOptions& program) {
  // The list is there even if it is empty.
  nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
  for (const std::string& argument : program.arguments) arguments.push_back(argument);
  return {{"arguments", std::move(arguments)}, {"stays", int{program.stays}}};
}

Result<ProgramOptions> program_from_json(const JsonValue& value) {
  ProgramOptions program;
  const JsonValue arguments = SLUICE_TRY(value.field("arguments"));
  constexpr std::size_t kMost = 1 << 16;
  for (const JsonValue& argument : SLUICE_TRY(arguments.as_items(kMost))) {
    program.arguments.push_back(SLUICE_TRY(argument.as_text()));
  }
  program.stays = SLUICE_TRY(value.int_or("stays", 0, 0, 1)) == 1;
  SLUICE_TRY(check(program));
  return program;
}

nlohmann::ordered_json json_of(const FunctionOptions& function) {
  nlohmann::ordered_json json;
  write_fields(function, json);
  if (function.program) json["program"] = json_of(*function.program);
  return json;
}

Status read_function(const JsonValue& value, FunctionOptions& function) {
  SLUICE_TRY(read_fields(value, function));
  if (!value.has("program")) return ok_status();
  function.program = SLUICE_TRY(program_from_json(SLUICE_TRY(value.field("program"))));
  return ok_status();
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
  if (options.function) json["function"] = json_of(*options.function);
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
    SLUICE_TRY(read_function(SLUICE_TRY(value.field("function")), options.function.emplace()));
  }
  return options;
}

}  // namespace sluice::terms
