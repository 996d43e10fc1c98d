#include "sandbox/programs/program_host.h"

#include <stdlib.h>  // NOLINT: mkdtemp
#include <string.h>  // NOLINT: strerror
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace sluice::sandbox {

namespace fs = std::filesystem;

using terms::ModelHandle;
using terms::runtime_error;

namespace {

constexpr int kMaxProcesses = 64;

/// Nothing here lacks memory that the unload of another function would give.
Status as_failed(const Status& status) {
  return terms::with_runtime_code(status, RuntimeCode::kFailed);
}

}  // namespace

ProgramHost::~ProgramHost() {
  shutdown(0);
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

terms::ModelInfo ProgramHost::describe(std::uint64_t handle, const ProgramModel& model) const {
  terms::ModelInfo info;
  info.handle = handle;
  info.name = model.name();
  info.phase = terms::ModelPhase::kStarted;
  info.group = model.group();
  info.depth = model.depth();
  info.num_slots = static_cast<std::size_t>(model.depth());
  return info;
}

/// Others can pass through the folder, and a socket is its user's alone.
Result<fs::path> ProgramHost::folder() {
  if (!folder_.empty()) return folder_;
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "sluice-programs-XXXXXX").string();
  constexpr mode_t kPassable = 0711;
  if (error || mkdtemp(name.data()) == nullptr || chmod(name.c_str(), kPassable) != 0) {
    return make_error(Code::kUnavailable, "no folder {}: {}", name, strerror(errno));
  }
  folder_ = name;
  return folder_;
}

Result<std::shared_ptr<DeviceProxy>> ProgramHost::proxy_with(std::int64_t quota_bytes) {
  const std::lock_guard lock(proxies_mutex_);
  std::weak_ptr<DeviceProxy>& known = proxies_[quota_bytes];
  if (auto proxy = known.lock(); proxy != nullptr && !proxy->has_ended()) return proxy;
  std::erase_if(proxies_, [&](const auto& entry) {
    return entry.first != quota_bytes && entry.second.expired();
  });
  ProxyStart start;
  // The one before may still be about to remove its socket.
  static std::atomic<std::uint64_t> last_number = 0;
  start.socket = SLUICE_TRY(folder()) / std::to_string(++last_number);
  start.words = options_.proxy;
  start.words.insert(start.words.end(),
                     {"--socket", start.socket.string(), "--memory", std::to_string(quota_bytes)});
  start.user = options_.user;
  start.group = options_.group;
  auto proxy = SLUICE_TRY(DeviceProxy::start(std::move(start)));
  known = proxy;
  return proxy;
}

Result<std::shared_ptr<ProgramModel>> ProgramHost::start_model(
    const runtime::LoadRequest& request) {
  const terms::FunctionOptions& function = *request.function;
  const auto proxy = SLUICE_TRY(proxy_with(function.memory_bytes));
  ProgramModelOptions options;
  options.name = request.name;
  options.words = options_.launcher;
  options.words.push_back(proxy->socket().string());
  options.words.push_back(request.path.string());
  options.words.insert(options.words.end(), function.program->arguments.begin(),
                       function.program->arguments.end());
  options.lives_on = proxy;
  options.stays = function.program->stays;
  options.depth = request.depth;
  options.max_run_ns = request.max_run_ns.value_or(0);
  if (request.group) options.group = *request.group;
  auto model = ProgramModel::start(std::move(options), clock_);
  if (model.is_ok() || !proxy->has_ended()) return model;
  return model.status().with_context(proxy->errors());
}

Result<ModelHandle> ProgramHost::load(const runtime::LoadRequest& request,
                                      const std::stop_token& stop) {
  if (!request.function || !request.function->program) {
    return runtime_error(RuntimeCode::kInvalid, "a package is no program");
  }
  if (request.depth < 1 || request.depth > kMaxProcesses) {
    return runtime_error(RuntimeCode::kInvalid, "a depth of {}: a program takes 1 to {}",
                         request.depth, kMaxProcesses);
  }
  if (stop.stop_requested()) {
    return runtime_error(RuntimeCode::kCancelled, "the deployment was cancelled");
  }
  auto model = start_model(request);
  if (!model.is_ok()) return as_failed(model.status());
  return ModelHandle(models_.insert(std::move(*model)));
}

Status ProgramHost::unload(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  const auto model = models_.remove(static_cast<std::uint64_t>(handle));
  if (model == nullptr) return find(handle).status();
  model->close();
  return ok_status();
}

Result<runtime::ModelStatisticsSnapshot> ProgramHost::statistics(ModelHandle handle) const {
  return SLUICE_TRY(find(handle))->statistics();
}

Result<std::shared_ptr<runtime::RequestSink>> ProgramHost::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle)));
}

void ProgramHost::shutdown(std::int64_t /*drain_deadline_ns*/) {
  for (const auto& [handle, model] : models_.all()) {
    (void)unload(ModelHandle(handle), 0);  // another thread was first
  }
}

}  // namespace sluice::sandbox
