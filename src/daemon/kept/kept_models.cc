#include "daemon/kept/kept_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/utf8.h"
#include "terms/runtime_code.h"

namespace sluice::daemon {
namespace {

using terms::ModelHandle;

// The daemon wrote the file, but an administrator may have edited it.
constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 26;
constexpr std::size_t kMaxErrorBytes = 512;
/// The file names users and paths.
constexpr mode_t kListMode = 0600;

terms::Peer peer_of(const KeptModel& model) {
  terms::Peer peer = {"", -1, model.user, -1};
  peer.token = model.token;
  return peer;
}

/// Numbers of the file stand where handles do.
std::vector<terms::ModelInfo> numbered(const std::map<ModelHandle, KeptModel>& models) {
  std::vector<terms::ModelInfo> infos;
  for (const auto& [handle, model] : models) {
    infos.emplace_back().handle = static_cast<std::uint64_t>(model.number);
  }
  return infos;
}

std::string name_of(const KeptModel& model) {
  return model.options.name.empty() ? std::filesystem::path(model.path).stem().string()
                                    : model.options.name;
}

/// Whether a client that made `b` meant to replace `a`, which no start could make.
bool replaces(const KeptModel& b, const KeptModel& a) {
  return a.user == b.user && a.token == b.token && a.graph.has_value() == b.graph.has_value() &&
         a.options.function.has_value() == b.options.function.has_value() &&
         name_of(a) == name_of(b);
}

/// A file that this daemon cannot read would keep the next one from starting.
Status check_readable(const KeptModel& model) {
  const auto back = parse_kept_models(print_kept_models({model}));
  if (back.is_ok() && back->front().path == model.path) return ok_status();
  return terms::runtime_error(
      RuntimeCode::kInvalid, "it cannot be kept for the next start: {}",
      back.is_ok() ? std::string("its path is no UTF-8") : back.status().message());
}

}  // namespace

Status KeptModels::restore(service::Service& service) {
  if (path_.empty()) return ok_status();
  // systemd makes the folder of the installed settings; a daemon that starts without systemd has
  // none. Where it cannot be made, the first deployment says so.
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  const auto text = read_text_file(path_, kMaxListBytes);
  if (text.is_ok()) {
    auto models = SLUICE_TRY(parse_kept_models(*text).with_context(fmt::format(
        "state_file \"{}\"; mend it, or move it away to start without models", path_.string())));
    for (KeptModel& model : models) {
      const std::int64_t number = std::max(model.number, package_number(model.package).value_or(0));
      next_number_ = std::max(next_number_, number + 1);
      restore(service, std::move(model));
    }
  } else if (text.status().code() != Code::kNotFound) {
    return text.status().with_context("state_file");
  }
  // Without a list nobody knows which packages are wanted: it may only have been moved away.
  if (text.is_ok()) packages_.remove_others();
  next_number_ = std::max(next_number_, packages_.last_number() + 1);
  // Set last: what is made above is in the file already.
  service.set_deployment_events({[this](ModelHandle handle, const service::Deployment& deployment) {
                                   return add(handle, deployment);
                                 },
                                 [this](ModelHandle handle) { remove(handle); }});
  if (text.is_ok() && print_kept_models(all()) != *text) {
    (void)write();  // logged; the old file holds the same models
  }
  return ok_status();
}

void KeptModels::restore(service::Service& service, KeptModel model) {
  const auto entry = catch_no_memory([&] { return make(service, model); });
  const std::lock_guard lock(mutex_);
  if (entry.is_ok()) {
    model.error.clear();
    made_.insert_or_assign(ModelHandle{entry->info.handle}, std::move(model));
    return;
  }
  if (!model.package.empty()) packages_.add(model.package, nullptr);
  model.error = valid_utf8(std::string_view(entry.status().message()).substr(0, kMaxErrorBytes));
  log_.add(service::LogLevel::kError, "model.not_restored name={} path={} reason={}",
           service::in_quotes(name_of(model)), service::in_quotes(model.path),
           service::in_quotes(model.error));
  // Kept, because the package may be back at the next start.
  absent_.push_back(std::move(model));
}

Result<terms::ModelEntry> KeptModels::make(service::Service& service, const KeptModel& model) {
  service::Deployment deployment;
  deployment.options = model.options;
  deployment.path = model.path;
  deployment.by = peer_of(model);
  if (model.graph) {
    auto request =
        SLUICE_TRY(sandbox::to_request(*model.graph, model.options.name, numbered(made_)));
    for (terms::GraphNode& node : request.nodes) {
      node.function =
          std::ranges::find(made_, static_cast<std::int64_t>(node.function), [](auto& one) {
            return one.second.number;
          })->first;
    }
    deployment.graph = std::move(request);
  }
  if (model.package.empty()) return service.deploy_again(deployment);
  const auto package = SLUICE_TRY(packages_.open(model.package));
  deployment.executable = SLUICE_TRY(service.uploads().parse(package.bytes));
  deployment.package_fd = package.file.get();
  auto entry = SLUICE_TRY(service.deploy_again(deployment));
  packages_.add(model.package, deployment.executable);
  return entry;
}

void KeptModels::set_handing_over(bool is_handing_over) {
  const std::lock_guard lock(mutex_);
  is_handing_over_ = is_handing_over;
  for (const ModelHandle handle : std::exchange(removed_, {})) remove_locked(handle);
}

/// The successor has read the file, or will.
Status KeptModels::check_kept() const {
  if (!is_handing_over_) return ok_status();
  return make_error(Code::kUnavailable, "a new daemon takes the place of this one; try again");
}

Status KeptModels::add(ModelHandle handle, const service::Deployment& deployment) {
  KeptModel model;
  model.path = deployment.path.string();
  model.options = deployment.options;
  model.user = deployment.by.user;
  model.token = deployment.by.token;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(check_kept());
    model.number = next_number_++;
    if (deployment.graph) model.graph = SLUICE_TRY(graph_of(*deployment.graph));
  }
  if (deployment.executable != nullptr) {
    model.package =
        SLUICE_TRY(packages_.take(model.number, deployment.executable, deployment.package_fd));
  }
  const std::string package = model.package;
  const std::lock_guard lock(mutex_);
  Status status = check_kept();
  if (status.is_ok()) status = check_readable(model);
  // Under the lock, so that files are written in the order of the changes.
  if (status.is_ok()) status = add_locked(handle, std::move(model));
  if (!status.is_ok() && !package.empty()) packages_.drop(package);
  return status;
}

/// In the place of the one that it replaces: a graph that was not made either knows the number.
Status KeptModels::add_locked(ModelHandle handle, KeptModel model) {
  const auto replaced =
      std::ranges::find_if(absent_, [&](const KeptModel& one) { return replaces(model, one); });
  std::vector<KeptModel> before = absent_;
  std::string package;
  if (replaced != absent_.end()) {
    model.number = replaced->number;
    package = replaced->package;
    absent_.erase(replaced);
  }
  made_.insert_or_assign(handle, std::move(model));
  const Status status = write();
  if (!status.is_ok()) {
    made_.erase(handle);
    absent_ = std::move(before);
    return terms::with_runtime_code(status, RuntimeCode::kOutOfResources);
  }
  if (!package.empty()) packages_.drop(package);
  return ok_status();
}

void KeptModels::remove(ModelHandle handle) {
  const std::lock_guard lock(mutex_);
  if (is_handing_over_) {
    removed_.push_back(handle);
  } else {
    remove_locked(handle);
  }
}

void KeptModels::remove_locked(ModelHandle handle) {
  const auto model = made_.find(handle);
  if (model == made_.end()) return;
  const std::string package = model->second.package;
  made_.erase(model);
  const Status status = write();
  // The file of before needs it.
  if (status.is_ok() && !package.empty()) packages_.drop(package);
}

Result<sandbox::GraphFile> KeptModels::graph_of(const terms::GraphRequest& request) const {
  sandbox::GraphFile graph;
  for (const terms::GraphNode& node : request.nodes) {
    const auto function = made_.find(node.function);
    if (function == made_.end()) {
      return terms::runtime_error(RuntimeCode::kFailed,
                                  "{}: its function is being deployed; try again", node.name);
    }
    graph.functions.push_back({node.name, std::to_string(function->second.number)});
  }
  graph.edges = request.edges;
  graph.outputs = request.outputs;
  return graph;
}

/// In the order in which they were deployed: the functions of a graph precede it.
std::vector<KeptModel> KeptModels::all() const {
  std::vector<KeptModel> all = absent_;
  for (const auto& [handle, model] : made_) all.push_back(model);
  std::ranges::sort(all, {}, &KeptModel::number);
  return all;
}

Status KeptModels::write() const {
  const std::string text = print_kept_models(all());
  std::error_code ignored;  // the write reports a folder that is not there
  std::filesystem::create_directories(path_.parent_path(), ignored);
  // A daemon that is killed here leaves the former list.
  Status status = write_file_atomically(path_, std::as_bytes(std::span(text)), kListMode);
  if (status.is_ok()) return status;
  log_.add(service::LogLevel::kError, "state.not_written path={} reason={}",
           service::in_quotes(path_.string()), service::in_quotes(status.message()));
  return std::move(status).with_context("keeping it for the next start");
}

}  // namespace sluice::daemon
