// The runtime in C++: a header-only layer over `sluice/runtime.h`, with requests in
// `sluice/request.hpp`.
//
//   auto runtime = sluice::Runtime::create();            // an engine in this process, or
//   auto runtime = sluice::Runtime::connect("unix:/run/sluice.sock");     // a daemon
//   auto model = runtime->load({.path = "digits.sluice"});
//   auto reply = model->infer({sluice::tensor<float>("image", pixels, {1, 1, 8, 8})});
//   if (!reply) return fail(reply.error());
//   for (float p : reply->output<float>("probabilities")->values) ...
//
// Errors are values; no function throws. Every object may be used from any thread. A Runtime is
// shared: groups and models keep it open, and the last of them closes it. `sluice/runtime.h`
// documents the calls, their errors, and which of them block.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/runtime.h"
#include "sluice/sluice.hpp"

namespace sluice {

using Nanoseconds = std::chrono::nanoseconds;

/// A device of a runtime.
struct DeviceInfo {
  std::int32_t id = 0;
  std::string kind = {};
  std::string name = {};
  std::string backend = {};
  std::string bus_address = {};
  std::int32_t num_cores = 0;
  std::int64_t memory_bytes = 0;
};

/// A core group of a runtime.
struct GroupInfo {
  std::uint64_t group = 0;
  bool is_implicit = false;
  std::int32_t num_models = 0;
  std::vector<sluice_core> cores = {};
  std::string active_model = {};
  std::int64_t num_switches = 0;
  std::int64_t memory_used_bytes = 0;
  std::int64_t max_memory_bytes = -1;
};

/// Name, type and dimensions of an input or output; -1 where the model takes any size.
struct TensorInfo {
  std::string name = {};
  std::string type = {};
  std::int32_t element_type = 0;
  std::vector<std::int64_t> dims = {};
  std::int32_t batch_axis = -1;
  bool has_default = false;  ///< of an input that a request may leave out
};

/// A loaded model.
struct ModelInfo {
  std::uint64_t model = 0;
  std::string name = {};
  std::int32_t phase = SLUICE_MODEL_LOADED;
  std::int32_t mode = SLUICE_LOAD_NORMAL;
  std::uint64_t group = 0;
  bool is_implicit = false;
  bool is_on_demand = false;
  std::int32_t depth = 0;
  std::int32_t queue_limit = 0;
  std::vector<TensorInfo> inputs = {};
  std::vector<TensorInfo> outputs = {};
  sluice_footprint footprint = {};
  std::int64_t slots_bytes = 0;
  bool has_fixed_inputs = false;  ///< initializers that the file lists as inputs are constants
};

struct RuntimeOptions {
  std::string backend_dir = {};
  std::vector<std::int32_t> devices = {};  ///< logical ids; empty: all
  std::string simulated_machine = {};
  std::int64_t demand_budget_bytes = 0;
};

struct CombineOptions {
  bool is_round_robin = false;
  std::int32_t queue_limit = 0;
  std::optional<std::int64_t> batch_rows = {};  ///< set: batching; 0: the compiled dimension
  Nanoseconds max_delay{0};
  Nanoseconds timeout{0};
  std::string name = {};
};

struct ConnectOptions {
  bool is_detached = false;  ///< what it makes stays when it closes
  std::string session = {};
  Nanoseconds timeout{0};  ///< 0: 5 seconds
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
  std::string token = {};
  std::int32_t transport = SLUICE_TRANSPORT_DEFAULT;
  std::string session_token = {};  ///< of another connection, whose session this one joins
};

struct GroupOptions {
  std::int32_t num_cores = 0;
  std::string kind = {};
  std::vector<std::int32_t> devices = {};
  std::int32_t isolation = SLUICE_ISOLATION_DEFAULT;
  std::int64_t memory_bytes = 0;
  Nanoseconds timeout{0};  ///< negative: no limit
};

/// As sluice_function_options.
struct FunctionOptions {
  std::int32_t share = 1;
  std::int32_t priority = 0;
  std::int64_t memory_bytes = 0;
  Nanoseconds keep_warm{60'000'000'000};
  std::int32_t batch_rows = 0;
};

/// As sluice_load_options: one of `path`, `package` and `fd` gives the package.
struct LoadOptions {
  std::string path = {};
  std::span<const std::byte> package = {};
  std::optional<int> fd = {};
  bool is_server_path = false;
  std::string name = {};
  std::uint64_t group = 0;
  std::int32_t depth = 0;
  std::int32_t queue_limit = 0;
  std::int32_t nan_policy = SLUICE_NAN_PASS;
  bool is_on_demand = false;
  bool is_pinned = false;
  std::int32_t isolation = SLUICE_ISOLATION_DEFAULT;
  Nanoseconds timeout{0};
  std::optional<FunctionOptions> function = {};  ///< deploys a function
  std::int64_t max_recorded_bytes = 0;
  std::optional<std::uint64_t> seed = {};  ///< of random operators
  /// Set: waiting requests run as one, of at most so many rows; 0: the compiled dimension.
  std::optional<std::int64_t> batch_rows = {};
  Nanoseconds max_delay{0};        ///< longest time that a request waits for others
  Nanoseconds max_run{0};          ///< longest time of one run; 0: the default, -1: none
  std::int32_t weight = 1;         ///< share of the cores among models that take turns
  Nanoseconds request_timeout{0};  ///< of requests that bring none; 0: no limit
  std::int32_t cores = 0;          ///< of one segment; 0: as compiled, -1: all that are free
};

/// A tensor that a daemon offers to those of other hosts. The key is a secret.
struct TensorOffer {
  std::uint64_t exchange = 0;
  std::string key = {};
};

struct FetchOptions {
  Nanoseconds ttl{0};      ///< of the copy; 0: the daemon's default
  Nanoseconds timeout{0};  ///< 0: none
};

/// As sluice_graph_options: one of `path` and `text` gives the graph.
struct GraphOptions {
  std::string path = {};
  std::string text = {};
  std::string name = {};
};

class CoreGroup;
struct InputTensor;
class LoadedModel;
class Reply;
class Request;
class SharedMemory;

namespace detail {

/// Closes a runtime after its last use.
class RuntimeHandle {
 public:
  explicit RuntimeHandle(sluice_runtime* handle) : handle_(handle) {}
  RuntimeHandle(const RuntimeHandle&) = delete;
  RuntimeHandle& operator=(const RuntimeHandle&) = delete;
  ~RuntimeHandle() { sluice_runtime_close(handle_, 0); }
  sluice_runtime* get() const { return handle_; }

 private:
  sluice_runtime* handle_;
};
using SharedRuntime = std::shared_ptr<const RuntimeHandle>;

/// Null for an object that was moved from: the functions of C refuse it.
inline sluice_runtime* handle_of(const SharedRuntime& runtime) {
  return runtime == nullptr ? nullptr : runtime->get();
}

/// Frees a snapshot.
struct Release {
  void operator()(const void* object) const { sluice_release(object); }
};
template <typename T>
using Snapshot = std::unique_ptr<const T, Release>;

inline TensorInfo info_of(const sluice_tensor_spec& spec) {
  TensorInfo info = {spec.name, spec.type,       spec.element_type,
                     {},        spec.batch_axis, spec.has_default != 0};
  if (spec.rank > 0) info.dims.assign(spec.dims, spec.dims + spec.rank);
  return info;
}

inline ModelInfo info_of(const sluice_loaded_model& model) {
  ModelInfo info;
  info.model = model.model;
  info.name = model.name;
  info.phase = model.phase;
  info.mode = model.mode;
  info.group = model.group;
  info.is_implicit = model.is_implicit != 0;
  info.is_on_demand = model.is_on_demand != 0;
  info.depth = model.depth;
  info.queue_limit = model.queue_limit;
  for (std::size_t i = 0; i < model.num_inputs; ++i) {
    info.inputs.push_back(info_of(*model.inputs[i]));
  }
  for (std::size_t i = 0; i < model.num_outputs; ++i) {
    info.outputs.push_back(info_of(*model.outputs[i]));
  }
  info.footprint = model.footprint;
  info.slots_bytes = model.slots_bytes;
  info.has_fixed_inputs = model.has_fixed_inputs != 0;
  return info;
}

inline GroupInfo info_of(const sluice_group_info& group) {
  GroupInfo info;
  info.group = group.group;
  info.is_implicit = group.is_implicit != 0;
  info.num_models = group.num_models;
  info.cores.assign(group.cores, group.cores + group.num_cores);
  info.active_model = group.active_model;
  info.num_switches = group.num_switches;
  info.memory_used_bytes = group.memory_used_bytes;
  info.max_memory_bytes = group.max_memory_bytes;
  return info;
}

/// Borrows the texts of `options`.
inline sluice_load_options c_options(const LoadOptions& options) {
  sluice_load_options c = {};
  c.struct_size = sizeof(c);
  if (!options.path.empty()) c.path = options.path.c_str();
  c.data = options.package.data();
  c.size_bytes = options.package.size();
  c.has_fd = options.fd ? 1 : 0;
  c.fd = options.fd.value_or(-1);
  c.is_server_path = options.is_server_path ? 1 : 0;
  if (!options.name.empty()) c.name = options.name.c_str();
  c.group = options.group;
  c.depth = options.depth;
  c.queue_limit = options.queue_limit;
  c.nan_policy = options.nan_policy;
  c.is_on_demand = options.is_on_demand ? 1 : 0;
  c.is_pinned = options.is_pinned ? 1 : 0;
  c.isolation = options.isolation;
  c.timeout_ns = options.timeout.count();
  c.max_recorded_bytes = options.max_recorded_bytes;
  c.has_seed = options.seed ? 1 : 0;
  c.seed = options.seed.value_or(0);
  c.has_batching = options.batch_rows ? 1 : 0;
  c.batch_rows = options.batch_rows.value_or(0);
  c.max_delay_ns = options.max_delay.count();
  c.max_run_ns = options.max_run.count();
  c.weight = options.weight;
  c.request_timeout_ns = options.request_timeout.count();
  c.cores = options.cores;
  return c;
}

/// Zero has a meaning of its own in C.
inline sluice_function_options c_options(const FunctionOptions& options) {
  sluice_function_options c = {};
  c.struct_size = sizeof(c);
  c.share = options.share;
  c.priority = options.priority;
  c.batch_rows = options.batch_rows;
  c.memory_bytes = options.memory_bytes;
  c.keep_warm_ns = options.keep_warm.count() == 0 ? -1 : options.keep_warm.count();
  return c;
}

}  // namespace detail

/// An engine in this process or a daemon. Copies share it.
class Runtime {
 public:
  static Expected<Runtime> create(const RuntimeOptions& options = {}) {
    sluice_runtime_options c = {};
    c.struct_size = sizeof(c);
    c.devices = options.devices.data();
    c.num_devices = static_cast<std::int32_t>(options.devices.size());
    if (!options.backend_dir.empty()) c.backend_dir = options.backend_dir.c_str();
    if (!options.simulated_machine.empty()) {
      c.simulated_machine = options.simulated_machine.c_str();
    }
    c.demand_budget_bytes = options.demand_budget_bytes;
    sluice_runtime* handle = nullptr;
    if (auto error = detail::check(sluice_runtime_create(&c, &handle))) return *error;
    return Runtime(handle);
  }

  /// Connects to `sluiced`; an empty address means the default Unix socket.
  static Expected<Runtime> connect(const std::string& address, const ConnectOptions& options = {}) {
    const auto text = [](const std::string& value) {
      return value.empty() ? nullptr : value.c_str();
    };
    sluice_connect_options c = {};
    c.struct_size = sizeof(c);
    c.is_detached = options.is_detached ? 1 : 0;
    c.session = text(options.session);
    c.timeout_ns = options.timeout.count();
    c.ca = text(options.ca);
    c.certificate = text(options.certificate);
    c.key = text(options.key);
    c.token = text(options.token);
    c.transport = options.transport;
    c.session_token = text(options.session_token);
    sluice_runtime* handle = nullptr;
    if (auto error = detail::check(sluice_runtime_connect(text(address), &c, &handle))) {
      return *error;
    }
    return Runtime(handle);
  }

  /// The secret by which another connection joins the session; empty without one.
  std::string session_token() const { return sluice_runtime_session_token(get()); }

  /// Closes it for all copies, groups and models, which fail from now on.
  [[nodiscard]] std::optional<Error> close(Nanoseconds drain = Nanoseconds(0)) {
    return detail::check(sluice_runtime_close(get(), drain.count()));
  }

  Expected<std::vector<DeviceInfo>> devices() const {
    const sluice_device_list* list = nullptr;
    if (auto error = detail::check(sluice_runtime_devices(get(), &list))) return *error;
    const detail::Snapshot<sluice_device_list> owner(list);
    std::vector<DeviceInfo> devices;
    for (const sluice_device* device : std::span(list->items, list->count)) {
      devices.push_back({device->id, device->kind, device->name, device->backend,
                         device->bus_address, device->num_cores, device->memory_bytes});
    }
    return devices;
  }

  Expected<CoreGroup> create_group(const GroupOptions& options = {}) const;
  Expected<std::vector<GroupInfo>> groups() const {
    const sluice_group_list* list = nullptr;
    if (auto error = detail::check(sluice_runtime_groups(get(), &list))) return *error;
    const detail::Snapshot<sluice_group_list> owner(list);
    std::vector<GroupInfo> groups;
    for (const sluice_group_info* group : std::span(list->items, list->count)) {
      groups.push_back(detail::info_of(*group));
    }
    return groups;
  }

  Expected<LoadedModel> load(const LoadOptions& options) const;
  /// What a load would take.
  Expected<sluice_footprint> estimate(const LoadOptions& options) const {
    sluice_load_options c = detail::c_options(options);
    const auto function = detail::c_options(options.function.value_or(FunctionOptions()));
    if (options.function) c.function = &function;
    const sluice_footprint* footprint = nullptr;
    if (auto error = detail::check(sluice_runtime_estimate(get(), &c, &footprint))) return *error;
    return *detail::Snapshot<sluice_footprint>(footprint);
  }
  /// A graph of functions that are deployed; remove it before them.
  Expected<LoadedModel> deploy_graph(const GraphOptions& options) const;
  Expected<std::vector<ModelInfo>> models() const {
    const sluice_loaded_model_list* list = nullptr;
    if (auto error = detail::check(sluice_runtime_models(get(), &list))) return *error;
    const detail::Snapshot<sluice_loaded_model_list> owner(list);
    std::vector<ModelInfo> models;
    for (const sluice_loaded_model* model : std::span(list->items, list->count)) {
      models.push_back(detail::info_of(*model));
    }
    return models;
  }
  /// One model of several started copies; unload it before them. Local runtimes only.
  Expected<LoadedModel> combine(const std::vector<const LoadedModel*>& models,
                                const CombineOptions& options = {}) const;
  /// A model that somebody else loaded. The result does not unload it.
  Expected<LoadedModel> find_model(const std::string& name) const;
  /// A request that some connection of the session posted (RequestOptions::is_posted), by its id.
  Request posted(std::uint64_t id) const;

  /// Memory for tensors that travel in no message to a daemon.
  Expected<SharedMemory> share(std::int64_t size_bytes) const;

  /// Tensors that stay in the exchange of a daemon, by an index; not in a local runtime. Requests
  /// take them as `exchanged` inputs, and keep outputs there (RequestOptions::kept).
  Expected<std::uint64_t> put_tensor(const InputTensor& tensor,
                                     Nanoseconds ttl = Nanoseconds(0)) const;
  /// The tensor is the reply's only output.
  Expected<Reply> get_tensor(std::uint64_t exchange) const;
  [[nodiscard]] std::optional<Error> remove_tensor(std::uint64_t exchange) const;
  /// Copies it to a device of own memory, where requests read it from then on. Returns the device
  /// that it came from over a link, or that had it; nullopt: it came from the host.
  Expected<std::optional<int>> bring_tensor(std::uint64_t exchange, int device) const;
  /// Lets daemons of other hosts fetch it.
  Expected<TensorOffer> offer_tensor(std::uint64_t exchange) const;
  /// Has the daemon fetch what one at HOST:PORT offers. Returns the index of the copy.
  Expected<std::uint64_t> fetch_tensor(const std::string& from, const TensorOffer& offer,
                                       const FetchOptions& options = {}) const;

  /// For functions of the C headers; owned by this object.
  sluice_runtime* get() const { return detail::handle_of(handle_); }

 private:
  explicit Runtime(sluice_runtime* handle)
      : handle_(std::make_shared<detail::RuntimeHandle>(handle)) {}
  detail::SharedRuntime handle_;
};

/// Cores reserved for models; destroyed with this object. Move-only.
class CoreGroup {
 public:
  CoreGroup(CoreGroup&& other) noexcept
      : runtime_(std::move(other.runtime_)), id_(std::exchange(other.id_, 0)) {}
  CoreGroup& operator=(CoreGroup&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(id_, other.id_);
    return *this;
  }
  CoreGroup(const CoreGroup&) = delete;
  CoreGroup& operator=(const CoreGroup&) = delete;
  ~CoreGroup() { (void)destroy(); }

  /// For LoadOptions::group.
  std::uint64_t id() const { return id_; }
  /// Fails while models are loaded on it. It stays until the runtime is closed then.
  [[nodiscard]] std::optional<Error> destroy() {
    if (id_ == 0) return std::nullopt;
    return detail::check(
        sluice_runtime_destroy_group(detail::handle_of(runtime_), std::exchange(id_, 0)));
  }

 private:
  friend class Runtime;
  CoreGroup(detail::SharedRuntime runtime, std::uint64_t id)
      : runtime_(std::move(runtime)), id_(id) {}
  detail::SharedRuntime runtime_;
  std::uint64_t id_;
};

inline Expected<CoreGroup> Runtime::create_group(const GroupOptions& options) const {
  sluice_group_options c = {};
  c.struct_size = sizeof(c);
  c.num_cores = options.num_cores;
  if (!options.kind.empty()) c.kind = options.kind.c_str();
  if (!options.devices.empty()) c.devices = options.devices.data();
  c.num_devices = static_cast<std::int32_t>(options.devices.size());
  c.isolation = options.isolation;
  c.memory_bytes = options.memory_bytes;
  c.timeout_ns = options.timeout.count();
  std::uint64_t group = 0;
  if (auto error = detail::check(sluice_runtime_create_group(get(), &c, &group))) return *error;
  return CoreGroup(handle_, group);
}

}  // namespace sluice

#include "sluice/request.hpp"  // IWYU pragma: export
