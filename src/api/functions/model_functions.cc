// The functions of sluice/runtime.h for models.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "api/fields.h"
#include "api/functions/describe.h"
#include "api/functions/open_runtimes.h"
#include "api/functions/snapshots.h"
#include "api/last_error.h"
#include "api/read_options.h"
#include "api/runtime/isolation.h"
#include "base/file.h"

namespace sluice::api {
namespace {

// Bounds what a wild count makes the function read.
constexpr std::size_t kMaxCombined = 1024;

Result<Bytes> package_bytes(const sluice_load_options& options) {
  // Two sources would be a guess about what the caller meant.
  const int num_sources = (options.path != nullptr ? 1 : 0) + (options.data != nullptr ? 1 : 0) +
                          (options.has_fd != 0 ? 1 : 0);
  if (num_sources != 1) {
    return invalid_argument("set exactly one of path, data and has_fd: {} are set", num_sources);
  }
  if (options.has_fd != 0) {
    // Opens the file anew: the caller may close its descriptor when the call returns.
    return SLUICE_TRY(map_file(fmt::format("/proc/self/fd/{}", options.fd))
                          .with_context(fmt::format("file descriptor {}", options.fd)));
  }
  // A path: whoever runs the model opens it.
  if (options.data == nullptr) return Bytes();
  const auto* data = static_cast<const std::byte*>(options.data);
  // Copied, because the model outlives the call.
  return MutableBytes::copy_of({data, options.size_bytes}).freeze();
}

Result<terms::NanPolicy> nan_policy_of(std::int32_t number) {
  switch (number) {
    case SLUICE_NAN_PASS: return terms::NanPolicy::kPass;
    case SLUICE_NAN_FLAG: return terms::NanPolicy::kFlag;
    case SLUICE_NAN_FAIL: return terms::NanPolicy::kFail;
    default:
      return invalid_argument("nan_policy is {}; expected 0 (pass), 1 (flag) or 2 (fail)", number);
  }
}

Result<terms::FunctionOptions> function_settings(const sluice_function_options& given,
                                                 const LoadSettings& settings) {
  if (settings.options.group || settings.options.is_on_demand) {
    return invalid_argument("a function runs on a lane: leave out the group and is_on_demand");
  }
  // One place for one setting: the function's own rows, not those of the load.
  if (settings.options.batching) {
    return invalid_argument("a function has batch_rows among its own options: set it there");
  }
  const sluice_function_options from = read_options(&given);
  terms::FunctionOptions options;
  take_fields(from, options);
  SLUICE_TRY(terms::check(options));
  return options;
}

Result<LoadSettings> load_settings(const sluice_load_options* given) {
  if (given == nullptr) return invalid_argument("the load options are null");
  const sluice_load_options options = read_options(given);
  LoadSettings settings;
  terms::LoadOptions& load = settings.options;
  settings.package = SLUICE_TRY(package_bytes(options));
  settings.is_server_path = options.is_server_path != 0;
  if (options.path != nullptr) {
    settings.path = options.path;
    // Checked here for a message that names the file; whoever opens it checks again.
    if (!settings.is_server_path && !std::filesystem::exists(settings.path)) {
      return make_error(Code::kNotFound, "{}: no such file", settings.path);
    }
  }
  if (options.name != nullptr) load.name = options.name;
  // Handles are 64 bits in C and ids 32 bits inside; a larger one can only be wrong.
  if (options.group > INT32_MAX) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no core group has handle {}",
                                options.group);
  }
  if (options.group != 0) load.group.emplace(static_cast<std::int32_t>(options.group));
  take_fields(options, load);
  load.nan_policy = SLUICE_TRY(nan_policy_of(options.nan_policy));
  load.is_on_demand = options.is_on_demand != 0;
  load.is_pinned = options.is_pinned != 0;
  load.isolation = SLUICE_TRY(isolation_of(options.isolation));
  settings.timeout_ns = options.timeout_ns;
  if (options.has_seed != 0) load.seed = options.seed;
  if (options.has_batching != 0) {
    load.batching = terms::BatchOptions{options.batch_rows, options.max_delay_ns};
    SLUICE_TRY(terms::check(*load.batching));
  }
  // Last, because a function refuses some of the settings above.
  if (options.function != nullptr)
    load.function = SLUICE_TRY(function_settings(*options.function, settings));
  return settings;
}

Result<CombineSettings> combine_settings(const std::uint64_t* models, std::size_t num_models,
                                         const sluice_combine_options& options) {
  if (models == nullptr || num_models == 0 || num_models > kMaxCombined) {
    return invalid_argument("combine between 1 and {} models", kMaxCombined);
  }
  if (options.queue_limit < 0 || options.batch_rows < 0 || options.max_delay_ns < 0) {
    return invalid_argument(
        "queue_limit {}, batch_rows {} and max_delay_ns {} must not be negative",
        options.queue_limit, options.batch_rows, options.max_delay_ns);
  }
  CombineSettings settings;
  settings.models.assign(models, models + num_models);
  settings.name = options.name == nullptr ? "combined" : options.name;
  if (options.is_round_robin != 0) {
    settings.replicas.choice = terms::ReplicaChoice::kRoundRobin;
  }
  if (options.queue_limit > 0) {
    settings.replicas.queue_limit = static_cast<std::size_t>(options.queue_limit);
  }
  if (options.has_batching != 0) {
    settings.batching = terms::BatchOptions{options.batch_rows, options.max_delay_ns};
  }
  settings.replicas.timeout_ns = options.timeout_ns;
  return settings;
}

Status set_option(sluice_load_options& options, std::string_view name, std::int64_t number) {
  Status status = make_error(Code::kNotFound, "a load has no number \"{}\"", name);
  terms::LoadOptions::visit_fields([&](const terms::Field& field, auto of) {
    auto& member = of(options);
    const auto* end = reinterpret_cast<const std::byte*>(&member + 1);
    // The caller's struct may be an older one.
    const bool is_there =
        end - reinterpret_cast<const std::byte*>(&options) <= std::ptrdiff_t{options.struct_size};
    if (field.name != name || !is_there) return;
    using Member = std::remove_reference_t<decltype(member)>;
    if (!std::in_range<Member>(number)) {
      status = invalid_argument("{}: {} is out of range", name, number);
      return;
    }
    member = static_cast<Member>(number);
    status = ok_status();
  });
  return status;
}

Result<std::uint64_t> find_model(Runtime& runtime, std::string_view name) {
  std::string known;
  for (const ModelDescription& model : SLUICE_TRY(runtime.models(0))) {
    if (model.info.name == name) return model.info.handle;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", model.info.name);
  }
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no model has the name \"{}\"; loaded are: {}", name,
                              known.empty() ? "none" : known);
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::null_result;
using sluice::api::with_result;
using sluice::api::with_result_blocking;
using sluice::api::with_runtime;
using sluice::api::with_runtime_blocking;

int32_t sluice_set_load_option(sluice_load_options* options, const char* name, int64_t number) {
  return sluice::api::guard([&]() -> Status {
    if (options == nullptr) return sluice::api::null_argument("options");
    if (name == nullptr) return sluice::api::null_argument("name");
    return sluice::api::set_option(*options, name, number);
  });
}

int32_t sluice_runtime_load(sluice_runtime* runtime, const sluice_load_options* options,
                            uint64_t* model) {
  return with_result_blocking(runtime, model, [&](Call& call) -> Status {
    *model = SLUICE_TRY(call->load(SLUICE_TRY(sluice::api::load_settings(options))));
    return ok_status();
  });
}

int32_t sluice_runtime_unload(sluice_runtime* runtime, uint64_t model, int64_t drain_ns) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->unload(model, drain_ns); });
}

int32_t sluice_runtime_start(sluice_runtime* runtime, uint64_t model) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->start(model); });
}

int32_t sluice_runtime_stop(sluice_runtime* runtime, uint64_t model, int64_t drain_ns) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->stop(model, drain_ns); });
}

int32_t sluice_runtime_reset(sluice_runtime* runtime, uint64_t model) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->reset(model); });
}

int32_t sluice_runtime_combine(sluice_runtime* runtime, const uint64_t* models, size_t num_models,
                               const sluice_combine_options* options, uint64_t* model) {
  return with_result_blocking(runtime, model, [&](Call& call) -> Status {
    const auto known = sluice::api::read_options(options);
    *model = SLUICE_TRY(
        call->combine(SLUICE_TRY(sluice::api::combine_settings(models, num_models, known))));
    return ok_status();
  });
}

int32_t sluice_runtime_estimate(sluice_runtime* runtime, const sluice_load_options* options,
                                const sluice_footprint** footprint) {
  return with_result_blocking(runtime, footprint, [&](Call& call) -> Status {
    auto copy = std::make_shared<sluice::api::FootprintCopy>();
    copy->public_part = sluice::api::describe(
        SLUICE_TRY(call->estimate(SLUICE_TRY(sluice::api::load_settings(options)))));
    sluice::api::give_snapshot(std::move(copy), footprint);
    return ok_status();
  });
}

int32_t sluice_runtime_models(sluice_runtime* runtime, const sluice_loaded_model_list** models) {
  return with_result(runtime, models, [&](Call& call) -> Status {
    sluice::api::give_snapshot(sluice::api::describe(SLUICE_TRY(call->models(0))), models);
    return ok_status();
  });
}

int32_t sluice_runtime_model(sluice_runtime* runtime, uint64_t model,
                             const sluice_loaded_model** description) {
  return with_result(runtime, description, [&](Call& call) -> Status {
    if (model == 0) {
      return sluice::terms::runtime_error(sluice::RuntimeCode::kInvalidHandle,
                                          "0 is the handle of no model");
    }
    const auto found = SLUICE_TRY(call->models(model));
    sluice::api::give_snapshot(sluice::api::describe(found.front()), description);
    return ok_status();
  });
}

int32_t sluice_runtime_find_model(sluice_runtime* runtime, const char* name, uint64_t* model) {
  return with_runtime(runtime, [&](Call& call) -> Status {
    if (model == nullptr || name == nullptr) return null_result();
    *model = 0;
    *model = SLUICE_TRY(sluice::api::find_model(*call, name));
    return ok_status();
  });
}
