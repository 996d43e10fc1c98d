#include "backend/registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "backend/handshake.h"
#include "base/log/event_log.h"
#include "base/text/plural.h"

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

/// The plug-ins of a folder by name, or the path itself for a file or a missing path.
std::vector<fs::path> plugins_at(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {path};
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    if (plugin_name(entry.path())) found.push_back(entry.path());
  }
  // The order of a folder's entries depends on the file system.
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> split_path_list(std::string_view list) {
  std::vector<fs::path> paths;
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(':'));
    if (!first.empty()) paths.emplace_back(first);
    list.remove_prefix(std::min(list.size(), first.size() + 1));
  }
  return paths;
}

/// In order of precedence: the caller's paths, SLUICE_BACKEND_PATH, the default folders. The first
/// plug-in of a name that loads is used.
std::vector<fs::path> candidates(const Discovery& discovery) {
  std::vector<fs::path> places = discovery.paths;
  // A path that was named is kept although it does not exist, so that the list can say so.
  if (const char* list = std::getenv("SLUICE_BACKEND_PATH"); list != nullptr) {
    for (fs::path& path : split_path_list(list)) places.push_back(std::move(path));
  }
  for (fs::path& folder : default_folders()) places.push_back(std::move(folder));
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    for (fs::path& file : plugins_at(place)) {
      if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
    }
  }
  return files;
}

/// Backends that the program itself made; they come before plug-ins of the same name.
struct ProcessBackends {
  std::mutex mutex;
  std::vector<std::shared_ptr<const Backend>> all;
};

ProcessBackends& process_backends() {
  static ProcessBackends backends;
  return backends;
}

std::shared_ptr<const Backend> find_in_process(std::string_view name) {
  ProcessBackends& backends = process_backends();
  const std::lock_guard lock(backends.mutex);
  const auto found = std::ranges::find(backends.all, name, &Backend::name);
  return found == backends.all.end() ? nullptr : *found;
}

}  // namespace

Status add_to_process(std::shared_ptr<const Backend> backend) {
  ProcessBackends& backends = process_backends();
  const std::lock_guard lock(backends.mutex);
  if (std::ranges::find(backends.all, backend->name(), &Backend::name) != backends.all.end()) {
    return make_error(Code::kAlreadyExists, "the process has a backend \"{}\" already",
                      backend->name());
  }
  backends.all.push_back(std::move(backend));
  return ok_status();
}

std::vector<fs::path> default_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  // A program PREFIX/bin/... has its plug-ins in PREFIX/lib/sluice.
  if (!error) folders.push_back(executable.parent_path().parent_path() / "lib" / "sluice");
  Dl_info info = {};
  // So has a library PREFIX/lib/... that a program of another place loads.
  if (::dladdr(reinterpret_cast<const void*>(&default_folders), &info) != 0 &&
      info.dli_fname != nullptr) {
    const fs::path beside = fs::absolute(info.dli_fname, error).parent_path() / "sluice";
    if (std::ranges::find(folders, beside) == folders.end()) folders.push_back(beside);
  }
  std::erase_if(folders, [&](const fs::path& folder) { return !fs::is_directory(folder, error); });
  return folders;
}

BackendRegistry::BackendRegistry(const Discovery& discovery) : state_(std::make_shared<State>()) {
  state_->options = discovery.options;
}

BackendRegistry BackendRegistry::discover(const Discovery& discovery) {
  BackendRegistry registry(discovery);
  for (const fs::path& path : candidates(discovery)) {
    registry.state_->plugins.push_back(
        {.name = plugin_name(path).value_or(path.filename().string()), .path = path});
  }
  return registry;
}

void BackendRegistry::State::load(Plugin& plugin) {
  // Each plug-in is tried once: a library that failed would fail again, and its reason stays.
  if (plugin.backend != nullptr || !plugin.reason.is_ok()) return;
  const auto first = std::ranges::find_if(plugins, [&](const Plugin& other) {
    return other.name == plugin.name && other.backend != nullptr;
  });
  std::error_code ignored;
  if (first != plugins.end()) {
    plugin.reason = make_error(Code::kAlreadyExists, "{}: {} of the same name was found first",
                               plugin.path.string(), first->path.string());
  } else if (!fs::exists(plugin.path, ignored)) {
    plugin.reason = make_error(Code::kNotFound, "{}: no such file or folder", plugin.path.string());
  } else {
    auto loaded = Backend::load(plugin.path, options[plugin.name]);
    if (loaded.is_ok()) {
      plugin.backend = *loaded;
      log_event(LogLevel::kDebug, "backend.loaded name={} version={} path={}",
                in_quotes(plugin.name), in_quotes(plugin.backend->version()),
                in_quotes(plugin.path.string()));
    } else {
      log_event(LogLevel::kWarning, "backend.refused name={} reason={}", in_quotes(plugin.name),
                in_quotes(loaded.status().message()));
      plugin.reason = loaded.status();
    }
  }
}

// The lock covers loading only. `plugins` never grows after discovery and entries do not change
// once loaded or refused, so the span may be read without the lock.
std::span<const Plugin> BackendRegistry::all() const {
  const std::lock_guard lock(state_->mutex);
  for (Plugin& plugin : state_->plugins) state_->load(plugin);
  return state_->plugins;
}

Result<std::shared_ptr<const Backend>> BackendRegistry::find(std::string_view name) const {
  const DeviceName wanted = split_device_name(name);
  auto backend = SLUICE_TRY(find_plugin(wanted.backend));
  const auto count = static_cast<int>(backend->devices().size());
  if (wanted.device.value_or(0) < count || !wanted.device) return backend;
  return make_error(Code::kNotFound, "backend \"{}\" has {}, numbered from 0; no device {}",
                    wanted.backend, counted(count, "device"), *wanted.device);
}

Result<std::shared_ptr<const Backend>> BackendRegistry::find_plugin(std::string_view name) const {
  if (auto backend = find_in_process(name)) return backend;
  {
    const std::lock_guard lock(state_->mutex);
    const Plugin* failed = nullptr;
    for (Plugin& plugin : state_->plugins) {
      if (plugin.name != name) continue;
      state_->load(plugin);
      if (plugin.backend != nullptr) return plugin.backend;
      // A later file of the same name may load; otherwise the first reason is the one to know.
      if (failed == nullptr) failed = &plugin;
    }
    if (failed != nullptr) return failed->reason.with_context("loading a backend");
  }
  if (name == kCustomBackend) {
    return make_error(Code::kNotFound,
                      "the model has operators that a program registers in its own process; this "
                      "process has none (sluice_operator_register)");
  }
  // Outside of the lock: all() takes it. Loads every plug-in, to list those that exist.
  std::string known;
  for (const Plugin& plugin : all()) {
    if (plugin.backend != nullptr) known += (known.empty() ? "" : ", ") + plugin.name;
  }
  return make_error(Code::kNotFound, "no backend \"{}\"; there are: {}", name,
                    known.empty() ? "none" : known);
}

}  // namespace sluice::backend
