// The functions of sluice/runtime.h for runtimes, devices and groups.
#include "api/functions/describe.h"
#include "api/functions/open_runtimes.h"
#include "api/functions/snapshots.h"
#include "api/runtime/client_table.h"
#include "api/runtime/isolation.h"
#include "api/runtime/local_runtime.h"

namespace sluice::api {
namespace {

Result<LocalOptions> local_options(const sluice_runtime_options& options) {
  LocalOptions local;
  if (options.backend_dir != nullptr) local.plugins.emplace_back(options.backend_dir);
  if (options.num_devices < 0 || (options.num_devices > 0 && options.devices == nullptr)) {
    return invalid_argument("num_devices is {} and devices is {}", options.num_devices,
                            options.devices == nullptr ? "null" : "set");
  }
  for (std::int32_t i = 0; i < options.num_devices; ++i) {
    local.devices.emplace_back(options.devices[i]);
  }
  if (options.simulated_machine != nullptr) local.simulated_machine = options.simulated_machine;
  local.demand_budget_bytes = options.demand_budget_bytes;
  return local;
}

Result<ConnectSettings> connect_settings(const char* address,
                                         const sluice_connect_options& options) {
  if (options.transport != SLUICE_TRANSPORT_DEFAULT && options.transport != SLUICE_TRANSPORT_GRPC) {
    return invalid_argument("transport is {}; expected 0 (default) or 1 (gRPC)", options.transport);
  }
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  ConnectSettings settings;
  settings.address = text(address);
  settings.has_session = options.is_detached == 0;
  settings.session = text(options.session);
  settings.timeout_ns = options.timeout_ns;
  settings.ca = text(options.ca);
  settings.certificate = text(options.certificate);
  settings.key = text(options.key);
  settings.token = text(options.token);
  settings.session_token = text(options.session_token);
  settings.uses_ring = options.transport == SLUICE_TRANSPORT_DEFAULT;
  return settings;
}

Result<GroupSettings> group_settings(const sluice_group_options& options) {
  GroupSettings settings;
  if (options.num_cores < 0 || options.num_devices < 0 || options.memory_bytes < 0) {
    return invalid_argument("num_cores {}, num_devices {} and memory_bytes {} must not be negative",
                            options.num_cores, options.num_devices, options.memory_bytes);
  }
  settings.cores.num_cores = options.num_cores;
  settings.cores.memory_bytes = options.memory_bytes;
  if (options.kind != nullptr) settings.cores.kind = options.kind;
  for (std::int32_t i = 0; options.devices != nullptr && i < options.num_devices; ++i) {
    settings.cores.devices.emplace_back(options.devices[i]);
  }
  settings.isolation = SLUICE_TRY(isolation_of(options.isolation));
  settings.timeout_ns = options.timeout_ns;
  return settings;
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::guard;
using sluice::api::null_result;
using sluice::api::with_result;
using sluice::api::with_result_blocking;
using sluice::api::with_runtime;
using sluice::api::with_runtime_blocking;

int32_t sluice_last_error_runtime_code(void) {
  return static_cast<int32_t>(sluice::terms::runtime_code_of(sluice::api::last_status()));
}

const char* sluice_last_error_remedy(void) {
  // The table's texts are string literals, which end with a zero.
  return sluice::terms::describe(sluice::terms::runtime_code_of(sluice::api::last_status()))
      .remedy.data();
}

void sluice_release(const void* object) { sluice::api::release_snapshot(object); }

int32_t sluice_runtime_create(const sluice_runtime_options* options, sluice_runtime** runtime) {
  return guard([&]() -> Status {
    if (runtime == nullptr) return null_result();
    *runtime = nullptr;
    // Opening a runtime starts threads and waits for a daemon; a callback must do neither.
    SLUICE_TRY(sluice::api::refuse_in_callback());
    const auto local = SLUICE_TRY(sluice::api::local_options(sluice::api::read_options(options)));
    *runtime = sluice::api::add_runtime(SLUICE_TRY(sluice::api::create_local_runtime(local)));
    return ok_status();
  });
}

int32_t sluice_runtime_connect(const char* address, const sluice_connect_options* options,
                               sluice_runtime** runtime) {
  return guard([&]() -> Status {
    if (runtime == nullptr) return null_result();
    *runtime = nullptr;
    SLUICE_TRY(sluice::api::refuse_in_callback());
    const auto settings =
        SLUICE_TRY(sluice::api::connect_settings(address, sluice::api::read_options(options)));
    *runtime = sluice::api::add_runtime(SLUICE_TRY(sluice::api::connect_runtime(settings)));
    return ok_status();
  });
}

const char* sluice_runtime_session_token(sluice_runtime* runtime) {
  const char* token = "";
  with_runtime(runtime, [&](Call& call) {
    token = call->session_token().c_str();
    return ok_status();
  });
  return token;
}

int32_t sluice_runtime_close(sluice_runtime* runtime, int64_t drain_ns) {
  if (runtime == nullptr) return SLUICE_OK;
  return guard([&] { return sluice::api::close_runtime(runtime, drain_ns); });
}

int32_t sluice_runtime_devices(sluice_runtime* runtime, const sluice_device_list** devices) {
  return with_result(runtime, devices, [&](Call& call) -> Status {
    sluice::api::give_snapshot(sluice::api::describe(SLUICE_TRY(call->devices())), devices);
    return ok_status();
  });
}

int32_t sluice_runtime_create_group(sluice_runtime* runtime, const sluice_group_options* options,
                                    uint64_t* group) {
  return with_result_blocking(runtime, group, [&](Call& call) -> Status {
    const auto settings =
        SLUICE_TRY(sluice::api::group_settings(sluice::api::read_options(options)));
    *group = SLUICE_TRY(call->create_group(settings));
    return ok_status();
  });
}

int32_t sluice_runtime_destroy_group(sluice_runtime* runtime, uint64_t group) {
  return with_runtime_blocking(runtime, [&](Call& call) { return call->destroy_group(group); });
}

int32_t sluice_runtime_groups(sluice_runtime* runtime, const sluice_group_list** groups) {
  return with_result(runtime, groups, [&](Call& call) -> Status {
    sluice::api::give_snapshot(sluice::api::describe(SLUICE_TRY(call->groups())), groups);
    return ok_status();
  });
}
