// The runtime: an engine in this process or a daemon.
#pragma once

#include <nanobind/nanobind.h>
#include <sluice/runtime.h>

#include <cstdint>
#include <optional>
#include <string>

#include "loaded_model.h"

namespace sluice::python {

/// Options are keyword arguments, named as the fields of the C structs; sluice/runtime.py checks
/// them.
class NativeRuntime {
 public:
  /// Takes the handle.
  explicit NativeRuntime(sluice_runtime* handle) : handle_(handle) {}
  ~NativeRuntime();
  NativeRuntime(const NativeRuntime&) = delete;
  NativeRuntime& operator=(const NativeRuntime&) = delete;

  static NativeRuntime* create(const nb::kwargs& options);
  static NativeRuntime* connect(const std::string& address, const nb::kwargs& options);
  std::string session_token() const;
  void close(std::int64_t drain_ns);

  nb::list devices() const;
  nb::list groups() const;
  nb::list models() const;

  std::uint64_t create_group(const nb::kwargs& options);
  void destroy_group(std::uint64_t group);

  /// `source`: a path, the package's bytes, or the number of an open file. Option `is_owner`:
  /// whether the model is unloaded with the result.
  NativeLoadedModel* load(const nb::object& source, const nb::kwargs& options);
  /// Options: `path` or `text`, `name`, and `is_owner` as for load.
  NativeLoadedModel* deploy_graph(const nb::kwargs& options);
  nb::dict estimate(const nb::object& source, const nb::kwargs& options) const;
  NativeLoadedModel* find_model(const std::string& name);
  NativeLoadedModel* combine(const std::vector<std::uint64_t>& models, const nb::kwargs& options);

  /// Bytes that a daemon maps, too. The array owns them.
  nb::object share(std::int64_t size_bytes);

  /// `array` as an input of NativeLoadedModel. Returns its index in the daemon's exchange.
  std::uint64_t put_tensor(const nb::object& array, std::int64_t ttl_ns);
  nb::object get_tensor(std::uint64_t exchange);
  void remove_tensor(std::uint64_t exchange);
  std::optional<int> bring_tensor(std::uint64_t exchange, int device);
  std::string offer_tensor(std::uint64_t exchange);
  std::uint64_t fetch_tensor(const std::string& source, std::uint64_t exchange,
                             const std::string& key, std::int64_t ttl_ns, std::int64_t timeout_ns);

  std::uint64_t start_profile(std::uint64_t group, std::uint64_t model);
  nb::dict stop_profile(std::uint64_t profile);

  sluice_runtime* handle() const { return handle_; }

 private:
  sluice_runtime* handle_;
};

void bind_runtime(nb::module_& module);

}  // namespace sluice::python
