// The options of a load, as a message and back.
#include "rpc/wire/convert.h"
#include "rpc/wire/fields.h"
#include "rpc/wire/function_messages.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::wire {

using terms::runtime_error;

namespace {

/// Where the package comes from.
Status read_source(const v1::LoadOptions& from, std::int64_t max_upload_bytes,
                   LoadSettings& settings) {
  if (from.source_case() == v1::LoadOptions::kPath) {
    settings.path = from.path();
    settings.file_version = from.file_version();
    return ok_status();
  }
  if (from.source_case() != v1::LoadOptions::kUploadBytes || from.upload_bytes() == 0) {
    return runtime_error(RuntimeCode::kInvalid, "neither a path nor the size of an upload");
  }
  // Refused by the announced size, before the first chunk is read.
  if (from.upload_bytes() > static_cast<std::uint64_t>(max_upload_bytes)) {
    return runtime_error(RuntimeCode::kOutOfResources,
                         "an upload of {} bytes is larger than the {} that are taken; load it by "
                         "path",
                         from.upload_bytes(), max_upload_bytes);
  }
  settings.upload_bytes = static_cast<std::int64_t>(from.upload_bytes());
  return ok_status();
}

}  // namespace

Result<LoadSettings> from_proto(const v1::LoadOptions& from, std::int64_t max_upload_bytes) {
  LoadSettings settings;
  settings.options.name = from.name();
  if (from.group() != 0) settings.options.group = SLUICE_TRY(group_from_proto(from.group()));
  read_options(from, settings.options);
  SLUICE_TRY(terms::check(settings.options));
  if (from.has_batch_rows()) {
    settings.options.batching = terms::BatchOptions{from.batch_rows(), from.max_delay_ns()};
    SLUICE_TRY(terms::check(*settings.options.batching));
  } else if (from.max_delay_ns() != 0) {
    return runtime_error(RuntimeCode::kInvalid, "max_delay_ns without batch_rows joins nothing");
  }
  if (from.flag_nan()) settings.options.nan_policy = terms::NanPolicy::kFlag;
  if (from.fail_nan()) settings.options.nan_policy = terms::NanPolicy::kFail;
  if (from.has_seed()) settings.options.seed = from.seed();
  settings.options.isolation = SLUICE_TRY(isolation_from_proto(from.isolation()));
  if (from.has_function()) settings.options.function = SLUICE_TRY(from_proto(from.function()));
  settings.only_estimates = from.only_estimate();
  SLUICE_TRY(read_source(from, max_upload_bytes, settings));
  return settings;
}

std::optional<std::string_view> newer_option(const terms::LoadOptions& options,
                                             std::uint32_t minor) {
  constexpr std::uint32_t kSeeds = 8, kBatches = 9, kFailingNan = 11, kPrograms = 15;
  const terms::LoadOptions standard;
  std::optional<std::string_view> newer;
  const auto add = [&](bool is_given, std::uint32_t since, std::string_view name) {
    if (is_given && since > minor) newer = name;
  };
  terms::LoadOptions::visit_fields([&](const terms::Field& field, auto of) {
    std::string_view name = field.name;
    if (field.is_duration()) name.remove_suffix(std::string_view("_ns").size());
    add(terms::number_of(of(options)) != terms::number_of(of(standard)), field.since, name);
  });
  add(options.nan_policy == terms::NanPolicy::kFail, kFailingNan, "nan_policy \"fail\"");
  add(options.batching.has_value(), kBatches, "batch_rows");
  add(options.seed.has_value(), kSeeds, "seed");
  add(options.function && options.function->program, kPrograms, "program");
  return newer;
}

void to_proto(const terms::LoadOptions& from, v1::LoadOptions& to) {
  to.set_name(from.name);
  if (from.group) to.set_group(static_cast<std::uint64_t>(from.group->value()));
  write_fields(from, to);
  to.set_flag_nan(from.nan_policy == terms::NanPolicy::kFlag);
  to.set_fail_nan(from.nan_policy == terms::NanPolicy::kFail);
  if (from.seed) to.set_seed(*from.seed);
  if (from.batching) {
    to.set_batch_rows(from.batching->rows);
    to.set_max_delay_ns(from.batching->max_delay_ns);
  }
  if (from.isolation) to.set_isolation(std::string(terms::isolation_name(*from.isolation)));
  if (from.function) to_proto(*from.function, *to.mutable_function());
}

}  // namespace sluice::rpc::wire
