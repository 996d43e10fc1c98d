// The plug-ins of this process: found, loaded when asked for, or listed with the reason why not.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/text/number.h"

namespace sluice::backend {

/// "sim" names a backend, "sim:1" its second device.
struct DeviceName {
  std::string_view backend;
  std::optional<int> device;  ///< absent where the name has none
};

/// Splits at the last ':' if digits follow it; otherwise the whole is the name of a backend.
inline DeviceName split_device_name(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == name.size()) return {name, std::nullopt};
  const auto device = to_number<int>(name.substr(colon + 1));
  if (!device || *device < 0) return {name, std::nullopt};
  return {name.substr(0, colon), device};
}

/// What discovery found at one path.
struct Plugin {
  std::string name;  ///< by the file: libsluice_backend_<name>.so
  std::filesystem::path path;
  std::shared_ptr<const Backend> backend = nullptr;  ///< null if it did not load
  Status reason = {};                                ///< why it did not
};

struct Discovery {
  /// Plug-in files, or folders of them.
  std::vector<std::filesystem::path> paths;
  /// Handed to `create`, by backend name.
  std::map<std::string, Options> options;
};

/// Loads a plug-in, which takes a millisecond or two, when somebody asks for it. Copies share what
/// they have loaded. Safe across threads.
class BackendRegistry {
 public:
  BackendRegistry() : BackendRegistry(Discovery()) {}

  /// Looks into `discovery.paths`, then the ':'-separated files and folders of the environment
  /// variable SLUICE_BACKEND_PATH, then the folders of `default_folders`. The first of several
  /// plug-ins with one name wins. A missing file of the first two is listed as such.
  static BackendRegistry discover(const Discovery& discovery = {});

  /// In the order found. Loads all plug-ins that are not loaded yet.
  std::span<const Plugin> all() const;

  /// The backend of a name such as "sim", or "sim:1" for one of its devices. Prefers backends of
  /// the process (add_to_process).
  /// Fails: kNotFound; the message names the backends, the devices of the backend, or the reason
  /// why it did not load.
  Result<std::shared_ptr<const Backend>> find(std::string_view name) const;

 private:
  explicit BackendRegistry(const Discovery& discovery);
  Result<std::shared_ptr<const Backend>> find_plugin(std::string_view name) const;

  struct State {
    std::map<std::string, Options> options;
    std::mutex mutex;  ///< of `plugins`, until all of them are loaded or refused
    std::vector<Plugin> plugins;
    /// Loads the plug-in, unless an attempt was made before or a plug-in of the same name is
    /// loaded.
    void load(Plugin& plugin);
  };
  std::shared_ptr<State> state_;
};

/// The backend of the operators that a program registers (sluice/operators.h).
inline constexpr std::string_view kCustomBackend = "custom";

/// Adds a backend whose code is part of the process, for the rest of its life. Every registry finds
/// it, those made before as well; `all` does not list it. Safe across threads.
/// Fails: kAlreadyExists for a name that was added before.
Status add_to_process(std::shared_ptr<const Backend> backend);

/// `../lib/sluice` from the executable, and `sluice` beside the shared library this code is in.
std::vector<std::filesystem::path> default_folders();

}  // namespace sluice::backend
