#include "runtime.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sluice/request.h>
#include <sluice/statistics.h>

#include <utility>
#include <vector>

#include "calls/calls.h"
#include "calls/errors.h"
#include "describe.h"

namespace sluice::python {
namespace {

/// For the C interface, where a text ends at its first zero.
std::string text_of(nb::handle value, const std::string& what) {
  std::string text;
  if (nb::try_cast(value, text) && text.find('\0') == std::string::npos) return text;
  throw Failure(Code::kInvalidArgument, what + ": got " + nb::cast<std::string>(nb::repr(value)) +
                                            ", which is no text of UTF-8 without zeros");
}

/// Keyword arguments; keeps the memory that a struct of the C interface points to.
class Options {
 public:
  explicit Options(const nb::kwargs& given) : given_(given) {}

  bool has(const char* name) const { return given_.contains(name); }
  template <typename T>
  void set(T& field, const char* name) const {
    if (given_.contains(name)) field = cast<T>(name);
  }
  void set_text(const char*& field, const char* name) {
    if (!given_.contains(name)) return;
    texts_.push_back(std::make_unique<std::string>(text_of(given_[name], name)));
    field = texts_.back()->c_str();
  }
  /// For a load: "numbers" has them by their names in the C interface.
  void set_numbers(sluice_load_options& options) const {
    if (!has("numbers")) return;
    for (const auto& [key, value] : cast<nb::dict>("numbers")) {
      const auto name = nb::cast<std::string>(key);
      std::int64_t number = 0;
      if (!nb::try_cast(value, number) ||
          sluice_set_load_option(&options, name.c_str(), number) != SLUICE_OK) {
        refuse(name.c_str(), value);
      }
    }
  }
  void set_numbers(const std::int32_t*& field, std::int32_t& count, const char* name) {
    if (!given_.contains(name)) return;
    numbers_ = cast<std::vector<std::int32_t>>(name);
    field = numbers_.data();
    count = static_cast<std::int32_t>(numbers_.size());
  }

 private:
  /// Fails for a value of another type, and for a number that the field cannot hold.
  template <typename T>
  T cast(const char* name) const {
    T value{};
    if (!nb::try_cast(given_[name], value)) refuse(name, given_[name]);
    return value;
  }
  [[noreturn]] static void refuse(const char* name, nb::handle value) {
    throw Failure(Code::kInvalidArgument, std::string(name) + ": got " +
                                              nb::cast<std::string>(nb::repr(value)) +
                                              ", which is of a wrong type or out of range");
  }

  const nb::kwargs& given_;
  std::vector<std::unique_ptr<std::string>> texts_;
  std::vector<std::int32_t> numbers_;
};

/// Where a package is, and how it is loaded. Borrows `source`.
struct Load {
  Load(const nb::object& source, const nb::kwargs& keywords) : given(keywords) {
    options.struct_size = sizeof(options);
    if (nb::isinstance<nb::bytes>(source)) {
      const auto bytes = nb::cast<nb::bytes>(source);
      options.data = bytes.data();
      options.size_bytes = bytes.size();
    } else if (nb::isinstance<nb::int_>(source)) {
      options.has_fd = 1;
      options.fd = nb::cast<int>(source);
    } else {
      path = text_of(source, "the path");
      options.path = path.c_str();
    }
    given.set_text(options.name, "name");
    given.set(options.is_server_path, "is_server_path");
    given.set(options.group, "group");
    given.set_numbers(options);
    given.set(options.nan_policy, "nan_policy");
    given.set(options.is_on_demand, "is_on_demand");
    given.set(options.is_pinned, "is_pinned");
    given.set(options.isolation, "isolation");
    given.set(options.timeout_ns, "timeout_ns");
    given.set(options.has_seed, "has_seed");
    given.set(options.seed, "seed");
    if (!given.has("share")) {
      given.set(options.has_batching, "has_batching");
      given.set(options.batch_rows, "batch_rows");
      given.set(options.max_delay_ns, "max_delay_ns");
      return;
    }
    function.struct_size = sizeof(function);
    given.set(function.share, "share");
    given.set(function.priority, "priority");
    given.set(function.memory_bytes, "memory_bytes");
    given.set(function.keep_warm_ns, "keep_warm_ns");
    given.set(function.batch_rows, "batch_rows");
    options.function = &function;
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Options given;
  std::string path;
  sluice_function_options function = {};
  sluice_load_options options = {};
};

}  // namespace

NativeRuntime::~NativeRuntime() {
  const nb::gil_scoped_release released;
  (void)sluice_runtime_close(handle_, 0);
}

NativeRuntime* NativeRuntime::create(const nb::kwargs& options) {
  Options given(options);
  sluice_runtime_options c = {};
  c.struct_size = sizeof(c);
  given.set_numbers(c.devices, c.num_devices, "devices");
  given.set_text(c.backend_dir, "backend_dir");
  given.set_text(c.simulated_machine, "simulated_machine");
  given.set(c.demand_budget_bytes, "demand_budget_bytes");
  sluice_runtime* handle = nullptr;
  without_gil([&] { check(sluice_runtime_create(&c, &handle)); });
  return new NativeRuntime(handle);
}

NativeRuntime* NativeRuntime::connect(const std::string& address, const nb::kwargs& options) {
  Options given(options);
  sluice_connect_options c = {};
  c.struct_size = sizeof(c);
  given.set(c.is_detached, "is_detached");
  given.set_text(c.session, "session");
  given.set(c.timeout_ns, "timeout_ns");
  given.set_text(c.ca, "ca");
  given.set_text(c.certificate, "certificate");
  given.set_text(c.key, "key");
  given.set_text(c.token, "token");
  given.set_text(c.session_token, "session_token");
  given.set(c.transport, "transport");
  const char* where = address.empty() ? nullptr : address.c_str();
  sluice_runtime* handle = nullptr;
  without_gil([&] { check(sluice_runtime_connect(where, &c, &handle)); });
  return new NativeRuntime(handle);
}

std::string NativeRuntime::session_token() const { return sluice_runtime_session_token(handle_); }

void NativeRuntime::close(std::int64_t drain_ns) {
  without_gil([&] { check(sluice_runtime_close(handle_, drain_ns)); });
}

nb::list NativeRuntime::devices() const {
  return describe_all(*snapshot<sluice_device_list>(
      [&](const sluice_device_list** made) { return sluice_runtime_devices(handle_, made); }));
}

nb::list NativeRuntime::groups() const {
  return describe_all(*snapshot<sluice_group_list>(
      [&](const sluice_group_list** made) { return sluice_runtime_groups(handle_, made); }));
}

nb::list NativeRuntime::models() const {
  return describe_all(*snapshot<sluice_loaded_model_list>(
      [&](const sluice_loaded_model_list** made) { return sluice_runtime_models(handle_, made); }));
}

std::uint64_t NativeRuntime::create_group(const nb::kwargs& options) {
  Options given(options);
  sluice_group_options c = {};
  c.struct_size = sizeof(c);
  given.set(c.num_cores, "num_cores");
  given.set_text(c.kind, "kind");
  given.set_numbers(c.devices, c.num_devices, "devices");
  given.set(c.isolation, "isolation");
  given.set(c.memory_bytes, "memory_bytes");
  given.set(c.timeout_ns, "timeout_ns");
  std::uint64_t group = 0;
  without_gil([&] { check(sluice_runtime_create_group(handle_, &c, &group)); });
  return group;
}

void NativeRuntime::destroy_group(std::uint64_t group) {
  without_gil([&] { check(sluice_runtime_destroy_group(handle_, group)); });
}

NativeLoadedModel* NativeRuntime::load(const nb::object& source, const nb::kwargs& options) {
  const Load load(source, options);
  bool is_owner = true;
  load.given.set(is_owner, "is_owner");
  std::uint64_t model = 0;
  without_gil([&] { check(sluice_runtime_load(handle_, &load.options, &model)); });
  return new NativeLoadedModel(handle_, model, is_owner);
}

NativeLoadedModel* NativeRuntime::deploy_graph(const nb::kwargs& options) {
  Options given(options);
  sluice_graph_options c = {};
  c.struct_size = sizeof(c);
  given.set_text(c.path, "path");
  given.set_text(c.text, "text");
  given.set_text(c.name, "name");
  bool is_owner = true;
  given.set(is_owner, "is_owner");
  std::uint64_t graph = 0;
  without_gil([&] { check(sluice_runtime_deploy_graph(handle_, &c, &graph)); });
  return new NativeLoadedModel(handle_, graph, is_owner);
}

nb::dict NativeRuntime::estimate(const nb::object& source, const nb::kwargs& options) const {
  const Load load(source, options);
  return describe(*snapshot<sluice_footprint>([&](const sluice_footprint** made) {
    return sluice_runtime_estimate(handle_, &load.options, made);
  }));
}

NativeLoadedModel* NativeRuntime::find_model(const std::string& name) {
  std::uint64_t model = 0;
  without_gil([&] { check(sluice_runtime_find_model(handle_, name.c_str(), &model)); });
  return new NativeLoadedModel(handle_, model, false);
}

NativeLoadedModel* NativeRuntime::combine(const std::vector<std::uint64_t>& models,
                                          const nb::kwargs& options) {
  Options given(options);
  sluice_combine_options c = {};
  c.struct_size = sizeof(c);
  given.set(c.is_round_robin, "is_round_robin");
  given.set(c.queue_limit, "queue_limit");
  given.set(c.has_batching, "has_batching");
  given.set(c.batch_rows, "batch_rows");
  given.set(c.max_delay_ns, "max_delay_ns");
  given.set(c.timeout_ns, "timeout_ns");
  given.set_text(c.name, "name");
  std::uint64_t model = 0;
  without_gil(
      [&] { check(sluice_runtime_combine(handle_, models.data(), models.size(), &c, &model)); });
  return new NativeLoadedModel(handle_, model, true);
}

nb::object NativeRuntime::share(std::int64_t size_bytes) {
  const sluice_shared_memory* memory = nullptr;
  without_gil([&] { check(sluice_runtime_share(handle_, size_bytes, &memory)); });
  nb::capsule owner(memory, [](void* held) noexcept { sluice_release(held); });
  return to_python({memory->data, memory->size_bytes, kByteElements, 1, &memory->size_bytes},
                   owner);
}

std::uint64_t NativeRuntime::put_tensor(const nb::object& array, std::int64_t ttl_ns) {
  InputTensor tensor;
  if (!read_input(array, tensor) || tensor.is_sequence) {
    throw Failure(Code::kInvalidArgument, "no contiguous array in memory of the processor");
  }
  const sluice_array view = tensor.view();
  std::uint64_t exchange = 0;
  without_gil([&] { check(sluice_runtime_put_tensor(handle_, &view, ttl_ns, &exchange)); });
  return exchange;
}

nb::object NativeRuntime::get_tensor(std::uint64_t exchange) {
  sluice_reply* reply = nullptr;
  without_gil([&] { check(sluice_runtime_get_tensor(handle_, exchange, &reply)); });
  return outputs_of(ReplyPointer(reply), {})[0];
}

void NativeRuntime::remove_tensor(std::uint64_t exchange) {
  without_gil([&] { check(sluice_runtime_remove_tensor(handle_, exchange)); });
}

std::optional<int> NativeRuntime::bring_tensor(std::uint64_t exchange, int device) {
  std::int32_t from = SLUICE_TENSOR_OF_HOST;
  without_gil([&] { check(sluice_runtime_bring_tensor(handle_, exchange, device, &from)); });
  return from == SLUICE_TENSOR_OF_HOST ? std::optional<int>() : from;
}

std::string NativeRuntime::offer_tensor(std::uint64_t exchange) {
  return snapshot<sluice_tensor_offer>([&](const sluice_tensor_offer** made) {
           return sluice_runtime_offer_tensor(handle_, exchange, made);
         })
      ->key;
}

std::uint64_t NativeRuntime::fetch_tensor(const std::string& source, std::uint64_t exchange,
                                          const std::string& key, std::int64_t ttl_ns,
                                          std::int64_t timeout_ns) {
  sluice_fetch_options c = {};
  c.struct_size = sizeof(c);
  c.from = source.c_str();
  c.exchange = exchange;
  c.key = key.c_str();
  c.ttl_ns = ttl_ns;
  c.timeout_ns = timeout_ns;
  std::uint64_t copy = 0;
  without_gil([&] { check(sluice_runtime_fetch_tensor(handle_, &c, &copy)); });
  return copy;
}

std::uint64_t NativeRuntime::start_profile(std::uint64_t group, std::uint64_t model) {
  sluice_profile_options c = {};
  c.struct_size = sizeof(c);
  c.group = group;
  c.model = model;
  std::uint64_t profile = 0;
  without_gil([&] { check(sluice_runtime_start_profile(handle_, &c, &profile)); });
  return profile;
}

nb::dict NativeRuntime::stop_profile(std::uint64_t profile) {
  return describe(*snapshot<sluice_profile>([&](const sluice_profile** made) {
    return sluice_runtime_stop_profile(handle_, profile, made);
  }));
}

void bind_runtime(nb::module_& module) {
  using Native = NativeRuntime;
  nb::class_<Native>(module, "Runtime", "An engine or a daemon; sluice.Runtime wraps it.")
      .def_static("create", &Native::create, nb::arg("options"))
      .def_static("connect", &Native::connect, nb::arg("address"), nb::arg("options"))
      .def("close", &Native::close, nb::arg("drain_ns"))
      .def("session_token", &Native::session_token)
      .def("devices", &Native::devices)
      .def("groups", &Native::groups)
      .def("models", &Native::models)
      .def("create_group", &Native::create_group, nb::arg("options"))
      .def("destroy_group", &Native::destroy_group, nb::arg("group"))
      .def("load", &Native::load, nb::arg("source"), nb::arg("options"))
      .def("deploy_graph", &Native::deploy_graph, nb::arg("options"))
      .def("estimate", &Native::estimate, nb::arg("source"), nb::arg("options"))
      .def("find_model", &Native::find_model, nb::arg("name"))
      .def("combine", &Native::combine, nb::arg("models"), nb::arg("options"))
      .def("share", &Native::share, nb::arg("size_bytes"))
      .def("put_tensor", &Native::put_tensor, nb::arg("array"), nb::arg("ttl_ns"))
      .def("get_tensor", &Native::get_tensor, nb::arg("exchange"))
      .def("remove_tensor", &Native::remove_tensor, nb::arg("exchange"))
      .def("bring_tensor", &Native::bring_tensor, nb::arg("exchange"), nb::arg("device"))
      .def("offer_tensor", &Native::offer_tensor, nb::arg("exchange"))
      .def("fetch_tensor", &Native::fetch_tensor, nb::arg("source"), nb::arg("exchange"),
           nb::arg("key"), nb::arg("ttl_ns"), nb::arg("timeout_ns"))
      .def("start_profile", &Native::start_profile, nb::arg("group"), nb::arg("model"))
      .def("stop_profile", &Native::stop_profile, nb::arg("profile"));
}

}  // namespace sluice::python
