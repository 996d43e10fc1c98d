#include "repository/repository.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"
#include "base/utf8.h"
#include "open_inference/model_description.h"
#include "repository/config/check_tensors.h"
#include "repository/tree/label_files.h"
#include "repository/tree/state_files.h"
#include "repository/warm_up.h"
#include "terms/runtime_code.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using service::LogLevel;

/// What clients unloaded and nobody changed.
constexpr std::string_view kUnloaded = "unloaded";

/// What the configuration says, and the files that it names.
Result<std::shared_ptr<const terms::DeclaredModel>> read_declared(const ModelFolder& folder,
                                                                  const fs::path& root) {
  auto labelled = SLUICE_TRY(with_labels(folder.config, folder.folder, root));
  if (!folder.config.sequences) return labelled;
  auto declared = std::make_shared<terms::DeclaredModel>(*labelled);
  SLUICE_TRY(read_first_states(*declared->sequences, folder.folder, root));
  return std::shared_ptr<const terms::DeclaredModel>(std::move(declared));
}

}  // namespace

Repository::Repository(service::Service& service, RepositoryOptions options)
    : service_(service),
      options_(std::move(options)),
      packages_(options_.compiler, options_.compile_limits, options_.text_flags) {}

std::string_view Repository::state_name(State state) {
  switch (state) {
    case State::kLoading: return "LOADING";
    case State::kReady: return kReadyState;
    case State::kUnloading: return "UNLOADING";
    case State::kUnavailable: return "UNAVAILABLE";
  }
  return "UNKNOWN";
}

std::shared_ptr<Repository::Model> Repository::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(name);
  return it == models_.end() ? nullptr : it->second;
}

std::shared_ptr<Repository::Model> Repository::find_or_add(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& model = models_[name];
  if (model == nullptr) model = std::make_shared<Model>();
  return model;
}

void Repository::forget(const std::string& name) {
  service_.set_traffic(name, {});
  service_.set_absence(name, "");
  const std::lock_guard lock(mutex_);
  models_.erase(name);
}

/// What the folder has of a model, and the client who loaded it last.
Result<ModelFolder> Repository::read(const std::string& name) const {
  std::optional<std::string> config;
  if (const auto model = find(name)) {
    const std::lock_guard lock(mutex_);
    config = model->config;
  }
  return read_model_folder(options_.place, name, lists_, config ? &*config : nullptr);
}

/// By the list of the folder: a client's text never becomes a path.
bool Repository::is_in_folder(const std::string& name) const {
  if (options_.place.empty()) return false;
  const auto names = list_models(options_.place, lists_);
  return names.is_ok() && std::ranges::binary_search(*names, name);
}

// ---- what clients ask for

Status Repository::load(const service::Caller& caller, const std::string& name,
                        std::optional<std::string> config) {
  SLUICE_TRY(check_name(name, "model"));
  if (name.find('/') != std::string::npos) {
    return invalid_argument("model \"{}\": a name has no slash", name);
  }
  if (config && std::cmp_greater(config->size(), kMaxConfigBytes)) {
    return invalid_argument("the configuration has more than {} bytes", kMaxConfigBytes);
  }
  lists_.forget();
  // `changing` of a model is locked before `mutex_`, which is held for moments and never while a
  // model loads: the index answers meanwhile.
  if (find(name) == nullptr && !is_in_folder(name)) {
    if (!config) return load_packaged(caller, name);
    return unimplemented("a model outside of the repository has no configuration");
  }
  const auto model = find_or_add(name);
  with_lock(mutex_, [&] { model->config = std::move(config); });
  const Status steps = load_steps(name);
  // In any case: what an ensemble wants is noted, so that it comes when its models do.
  Status status = load_changed(name);
  if (!steps.is_ok()) status = steps;  // the reason
  return std::move(status).with_context(fmt::format("model \"{}\"", name));
}

/// And the ensembles that have it.
Status Repository::load_changed(const std::string& name) {
  const auto model = find_or_add(name);
  SLUICE_TRY(with_lock(model->changing, [&] { return load_model(name, *model); }));
  load_users(name);
  return ok_status();
}

/// A model that is loaded stays as it is, because clients load before each use.
Status Repository::load_packaged(const service::Caller& caller, const std::string& name) {
  if (service_.find_named(caller.session->id(), name).is_ok()) return ok_status();
  terms::LoadOptions options;
  options.name = name;
  for (const fs::path& folder : service_.options().model_folders) {
    const fs::path path = folder / (name + ".sluice");
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    SLUICE_TRY(service_.load(caller, options, {path}, nullptr));
    return ok_status();
  }
  if (options_.place.empty()) {
    return make_error(Code::kNotFound, "no model folder has \"{}.sluice\"", name);
  }
  return make_error(Code::kNotFound, "the repository has no model \"{}\"", name);
}

Status Repository::unload(const service::Caller& caller, const std::string& name, bool with_steps) {
  if (const auto model = find(name)) {
    const std::set<std::string> steps = with_steps ? steps_of(name) : std::set<std::string>();
    {
      const std::lock_guard lock(model->changing);
      unload_model(*model);
      service_.set_absence(name, "a client unloaded it");
      // A name without a folder would stay in the index for ever.
      if (!is_in_folder(name)) forget(name);
    }
    unload_steps(steps);
    return ok_status();
  }
  const auto handle = SLUICE_TRY(service_.find_named(caller.session->id(), name));
  return service_.unload(caller, handle, service_.options().drain_limit_ns);
}

// ---- loading; the model's `changing` is held

Status Repository::load_model(const std::string& name, Model& model) {
  const auto folder = read(name);
  model.tried = fingerprint_of(folder);
  if (folder.is_ok()) {
    // Before anything can fail: the load of a model that is missing now tries again.
    const std::lock_guard lock(mutex_);
    model.wanted_steps.clear();
    for (const terms::EnsembleStep& step : folder->config.steps) {
      model.wanted_steps.insert(step.model);
    }
  }
  Status status = folder.is_ok() ? load_versions(name, model, *folder) : folder.status();
  service_.set_absence(name, status.is_ok() ? "" : "its last load failed: " + status.message());
  if (!status.is_ok()) {
    service_.log().add(LogLevel::kWarning, "repository.not_loaded model={} reason={}",
                       service::in_quotes(name), service::in_quotes(status.message()));
  }
  const std::lock_guard lock(mutex_);
  model.error = folder.is_ok() ? "" : status.message();
  return status;
}

Status Repository::load_versions(const std::string& name, Model& model, const ModelFolder& folder) {
  for (const std::string& warning : folder.config.warnings) {
    service_.log().add(LogLevel::kWarning, "repository.config model={} warning={}",
                       service::in_quotes(name), service::in_quotes(warning));
  }
  Status first = ok_status();
  std::set<std::int64_t> wanted;
  Load load = {name, folder};
  const std::string steps = steps_fingerprint(folder.config);
  for (VersionFile version : folder.versions) {
    version.fingerprint += steps;
    wanted.insert(version.number);
    Status status = load_version(load, model, version);
    // All versions are tried, and the first error is the answer.
    if (first.is_ok()) first = std::move(status);
  }
  // Old versions go, and requests move, only if all new ones serve.
  SLUICE_TRY(std::move(first));
  service_.set_traffic(name, folder.config.traffic);
  std::vector<std::int64_t> others;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, version] : model.versions) {
      if (!wanted.contains(number)) others.push_back(number);
    }
    model.steps = model.wanted_steps;
  }
  for (const std::int64_t number : others) {
    retire(model, number);
    const std::lock_guard lock(mutex_);
    model.versions.erase(number);
  }
  return ok_status();
}

Status Repository::load_version(Load& load, Model& model, const VersionFile& wanted) {
  const terms::ModelHandle old = served_of(model, wanted.number);
  {
    const std::lock_guard lock(mutex_);
    Version& version = model.versions[wanted.number];
    if (old == terms::ModelHandle{}) {
      version.state = State::kLoading;
    } else if (version.fingerprint == wanted.fingerprint) {
      version.reason.clear();
      return ok_status();
    }
  }
  // Without `mutex_`: compiling takes seconds to minutes.
  const bool is_ensemble = !load.folder.config.steps.empty();
  const auto loaded = is_ensemble ? load_ensemble(load, model, wanted) : load_file(load, wanted);
  {
    const std::lock_guard lock(mutex_);
    Version& version = model.versions[wanted.number];
    if (loaded.is_ok()) {
      version = {State::kReady, "", *loaded, wanted.fingerprint};
    } else {
      // The old model, if there is one, goes on.
      version.state = old == terms::ModelHandle{} ? State::kUnavailable : State::kReady;
      version.reason = loaded.status().message();
      // One that was unloaded before is no longer what somebody unloaded.
      if (old == terms::ModelHandle{}) version.handle = {};
    }
  }
  if (loaded.is_ok()) {
    // New requests find the new handle from here on; the old model answers those that it has.
    if (old != terms::ModelHandle{}) retire_handle(old);
    return ok_status();
  }
  return loaded.status().with_context(fmt::format("version {}", wanted.number));
}

/// A model of the folder that would take all cores gets so many: with all of them, a step of its
/// texts would keep small networks of the folder waiting.
std::int32_t Repository::part_of_cores() const {
  const auto names = list_models(options_.place, lists_);
  if (!names.is_ok() || names->size() < 2) return 0;
  std::int64_t cores = 0;
  for (const terms::Device& device : service_.server().devices) {
    if (device.kind == terms::kCpuKind) cores += device.num_cores;
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(cores / std::ssize(*names), 1));
}

/// But for what it consists of.
Result<service::OwnModel> Repository::own_model(Load& load, const VersionFile& wanted) {
  const ModelConfig& config = load.folder.config;
  if (!load.declared) load.declared = read_declared(load.folder, options_.place);
  service::OwnModel own;
  own.declared = SLUICE_TRY(Result<std::shared_ptr<const terms::DeclaredModel>>(*load.declared));
  own.options = config.options;
  own.options.name = load.name;
  if (!own.options.cores) own.most_cores = part_of_cores();
  own.version = wanted.number;
  own.prepare = [&config](const dispatch::ModelRef& model) -> Status {
    SLUICE_TRY(check_tensors(config, model.signature()));
    // The first run records command lists and touches memory; a client should not wait for that.
    warm_up(model);
    return ok_status();
  };
  return own;
}

Result<terms::ModelHandle> Repository::load_file(Load& load, const VersionFile& wanted) {
  const fs::path file = SLUICE_TRY(Result<fs::path>(wanted.file));
  service::OwnModel own = SLUICE_TRY(own_model(load, wanted));
  const ModelPackage package = SLUICE_TRY(packages_.open(file, stop_.get_token()));
  own.path = package.path;
  own.executable = package.executable;
  if (package.file != nullptr) own.package_fd = package.file->fd();
  const auto entry = SLUICE_TRY(load_joined(own));
  return terms::ModelHandle{entry.info.handle};
}

/// A configuration asks for joined requests because of speed. A model that cannot join them answers
/// the same one by one.
Result<terms::ModelEntry> Repository::load_joined(service::OwnModel& own) {
  auto joined = service_.load_own(own);
  const bool is_refused = !joined.is_ok() && joined.status().detail() ==
                                                 static_cast<std::int32_t>(RuntimeCode::kInvalid);
  if (!is_refused || !own.options.batching) return joined;
  own.options.batching.reset();
  auto alone = service_.load_own(own);
  if (!alone.is_ok()) return alone;  // its reason has nothing to do with joining
  service_.log().add(LogLevel::kWarning, "repository.not_joined model={} reason={}",
                     service::in_quotes(own.options.name),
                     service::in_quotes(joined.status().message()));
  return alone;
}

/// Versions stay in the index.
void Repository::unload_model(Model& model) {
  std::vector<std::int64_t> numbers;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, version] : model.versions) numbers.push_back(number);
    model.steps.clear();
    model.wanted_steps.clear();
  }
  for (const std::int64_t number : numbers) retire(model, number);
}

void Repository::retire(Model& model, std::int64_t number) {
  terms::ModelHandle handle{};
  {
    const std::lock_guard lock(mutex_);
    Version& version = model.versions[number];
    handle = version.handle;
    // The index says so while requests in flight end.
    version.state = State::kUnloading;
  }
  if (handle != terms::ModelHandle{}) retire_handle(handle);
  const std::lock_guard lock(mutex_);
  model.versions[number] = {State::kUnavailable, std::string(kUnloaded), {}, {}};
}

void Repository::retire_handle(terms::ModelHandle handle) {
  const Status status = service_.retire_own(handle);
  if (status.is_ok() || !is_served(handle)) return;  // an administrator unloaded it
  service_.log().add(LogLevel::kError, "repository.not_unloaded model={:#x} reason={}",
                     static_cast<std::uint64_t>(handle), service::in_quotes(status.message()));
}

terms::ModelHandle Repository::served_of(Model& model, std::int64_t number) {
  const auto handle = with_lock(mutex_, [&] { return model.versions[number].handle; });
  return handle != terms::ModelHandle{} && is_served(handle) ? handle : terms::ModelHandle{};
}

/// Handles of the versions that were loaded.
std::vector<terms::ModelHandle> Repository::handles_of(const Model& model) const {
  std::vector<terms::ModelHandle> handles;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, version] : model.versions) {
    if (version.handle != terms::ModelHandle{}) handles.push_back(version.handle);
  }
  return handles;
}

bool Repository::is_served(terms::ModelHandle handle) const {
  return service_.list_models(static_cast<std::uint64_t>(handle)).is_ok();
}

// ---- the index

Result<std::vector<IndexEntry>> Repository::index() const {
  std::vector<IndexEntry> entries;
  std::set<std::uint64_t> own;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, model] : models_) {
      for (const auto& [number, version] : model->versions) {
        own.insert(static_cast<std::uint64_t>(version.handle));
        entries.push_back({name, number, state_name(version.state), version.reason});
        if (version.state == State::kReady) note_missing_step(version.handle, entries.back());
      }
      if (!model->error.empty()) entries.push_back({name, 0, "UNAVAILABLE", model->error});
    }
  }
  add_folder_entries(entries);
  for (const terms::ModelEntry& entry : SLUICE_TRY(service_.list_models(0))) {
    if (own.contains(entry.info.handle)) continue;
    const bool is_ready = open_inference::is_ready(entry);
    entries.push_back({entry.info.name, entry.version,
                       state_name(is_ready ? State::kReady : State::kUnavailable),
                       is_ready ? "" : std::string(terms::phase_name(entry.info.phase))});
  }
  return entries;
}

/// An ensemble whose model was unloaded answers no request.
void Repository::note_missing_step(terms::ModelHandle handle, IndexEntry& entry) const {
  const auto missing = service_.missing_step(handle);
  if (!missing) return;
  entry.state = state_name(State::kUnavailable);
  entry.reason = fmt::format("its model \"{}\" is not served", *missing);
}

/// Models that nobody loaded yet.
void Repository::add_folder_entries(std::vector<IndexEntry>& entries) const {
  if (options_.place.empty()) return;
  const auto names = list_models(options_.place, lists_);
  if (!names.is_ok()) return;
  for (const std::string& name : *names) {
    if (find(name) == nullptr) entries.push_back({name, 0, "UNAVAILABLE", "not loaded"});
  }
}

// ---- the thread

Status Repository::start() {
  if (options_.place.empty()) return ok_status();
  service_.set_preparing(true);
  thread_ = SLUICE_TRY(start_thread([this] { run(); }));
  return ok_status();
}

void Repository::start_draining() {
  stop_.request_stop();
  {
    const std::lock_guard lock(mutex_);  // the thread waits, or sees the request
  }
  wake_.notify_all();
}

void Repository::stop() {
  start_draining();
  if (thread_.joinable()) thread_.join();
}

void Repository::run() {
  look(true);
  service_.set_preparing(false);
  while (options_.poll_ns > 0 && !stop_.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const std::int64_t next_ns = system_clock().now_ns() + options_.poll_ns;
      while (!stop_.stop_requested() && system_clock().now_ns() < next_ns) {
        system_clock().wait_until(lock, wake_, next_ns);
      }
    }
    if (!stop_.stop_requested()) look(false);
  }
}

/// A model that has gone from the folder is unloaded and forgotten.
void Repository::look(bool is_start) {
  lists_.forget();
  const auto names = list_models(options_.place, lists_);
  if (!names.is_ok()) {
    service_.log().add(LogLevel::kWarning, "repository.not_read reason={}",
                       service::in_quotes(names.status().message()));
    return;
  }
  std::vector<std::string> gone;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, model] : models_) {
      if (!std::ranges::binary_search(*names, name)) gone.push_back(name);
    }
  }
  std::set<std::string> seen;
  std::vector<std::string> order;
  for (const std::string& name : *names) add_load_order(name, seen, order);
  for (const std::string& name : order) {
    if (stop_.stop_requested()) return;
    if (look_at(name, is_start) && !is_start) load_users(name);
  }
  for (const std::string& name : gone) {
    const auto model = find(name);
    if (model == nullptr) continue;
    const std::lock_guard lock(model->changing);
    unload_model(*model);
    forget(name);
  }
}

/// A change is taken when two looks see the same, because somebody may still be writing. One that a
/// client loads meanwhile waits for the next look. True if the model was loaded.
bool Repository::look_at(const std::string& name, bool is_start) {
  const auto model = find_or_add(name);
  const std::string now = fingerprint_of(read(name));
  // `seen` belongs to the polling thread alone, so no lock guards it.
  const std::string before = std::exchange(model->seen, now);
  const std::unique_lock lock(model->changing, std::try_to_lock);
  if (!lock || now == model->tried || (now != before && !is_start)) return false;
  return load_model(name, *model).is_ok();  // the log and the index have the error
}

}  // namespace sluice::repository
