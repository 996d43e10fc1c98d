// The part of Repository that is about ensembles and the models that they run.
#include <algorithm>
#include <utility>

#include "base/process/with_lock.h"
#include "repository/repository.h"
#include "repository/scheduling/ensemble.h"

namespace sluice::repository {

std::set<std::string> Repository::steps_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(name);
  return it == models_.end() ? std::set<std::string>() : it->second->steps;
}

/// The ensembles whose `steps` have it.
std::set<std::string> Repository::users_of(const std::string& name,
                                           std::set<std::string> Model::*steps) const {
  std::set<std::string> users;
  const std::lock_guard lock(mutex_);
  for (const auto& [user, model] : models_) {
    if (((*model).*steps).contains(name)) users.insert(user);
  }
  return users;
}

/// An ensemble that is served, or is being loaded, runs it.
bool Repository::is_in_use(const std::string& step) const {
  return std::ranges::any_of(users_of(step, &Model::steps), [&](const std::string& user) {
    const auto model = find(user);
    return model != nullptr &&
           (is_loading(*model) || std::ranges::any_of(handles_of(*model), [&](auto handle) {
              return is_served(handle);
            }));
  });
}

bool Repository::is_loading(const Model& model) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      model.versions, [](const auto& entry) { return entry.second.state == State::kLoading; });
}

/// Whether an ensemble is to be linked again with a model, as it was tried last: neither was it
/// unloaded meanwhile, nor has its folder changed since, which nobody asked to load.
/// Requires: its `changing` is held.
bool Repository::is_wanted(const std::string& name, const Model& model,
                           const std::string& step) const {
  if (!with_lock(mutex_, [&] { return model.wanted_steps.contains(step); })) return false;
  const auto handles = handles_of(model);
  const auto is_gone = [&](auto handle) { return !is_served(handle); };
  if (!handles.empty() && std::ranges::all_of(handles, is_gone)) return false;
  return fingerprint_of(read(name)) == model.tried;
}

/// Adds the models of the folder that `name` needs, and then `name`. A circle is cut anywhere: its
/// last load finds it.
void Repository::add_load_order(const std::string& name, std::set<std::string>& seen,
                                std::vector<std::string>& order) const {
  if (!seen.insert(name).second) return;
  const auto folder = read(name);
  if (folder.is_ok()) {
    for (const terms::EnsembleStep& step : folder->config.steps) {
      if (is_in_folder(step.model)) add_load_order(step.model, seen, order);
    }
  }
  order.push_back(name);
}

/// The models of an ensemble that are not served, before itself: no lock of the ensemble is held,
/// or two ensembles that have each other would wait for ever.
Status Repository::load_steps(const std::string& name) {
  std::set<std::string> seen;
  std::vector<std::string> order;
  add_load_order(name, seen, order);
  order.pop_back();
  for (const std::string& step : order) {
    if (service_.find_named(terms::kNobody, step).is_ok()) continue;
    SLUICE_TRY(load_changed(step).with_context(fmt::format("model \"{}\"", step)));
  }
  return ok_status();
}

/// An ensemble keeps the types of its models: with others it is linked again, as is one that could
/// not be linked. One that fails stays as it was, and the log has the reason.
void Repository::load_users(const std::string& name) {
  for (const std::string& user : users_of(name, &Model::wanted_steps)) {
    const auto model = find(user);
    if (model == nullptr) continue;
    {
      const std::lock_guard lock(model->changing);
      if (!is_wanted(user, *model, name) || !load_model(user, *model).is_ok()) continue;
    }
    load_users(user);
  }
}

/// What is loaded, and what the folder has now.
std::set<std::string> Repository::all_steps_of(const std::string& name) const {
  std::set<std::string> steps = steps_of(name);
  if (!is_in_folder(name)) return steps;
  const auto folder = read(name);
  if (!folder.is_ok()) return steps;
  for (const terms::EnsembleStep& step : folder->config.steps) steps.insert(step.model);
  return steps;
}

/// A request would run in the circle until its deadline.
Status Repository::check_circle(const std::string& name,
                                const terms::DeclaredModel& ensemble) const {
  for (const terms::EnsembleStep& step : ensemble.steps) {
    std::map<std::string, std::string> ways = {{step.model, name + " -> " + step.model}};
    std::vector<std::string> left = {step.model};
    while (!left.empty()) {
      const std::string next = std::move(left.back());
      left.pop_back();
      if (next == name) {
        return invalid_argument("config.pbtxt, line {}: ensembles form a circle: {}", step.line,
                                ways[next]);
      }
      for (const std::string& inner : all_steps_of(next)) {
        if (ways.emplace(inner, ways[next] + " -> " + inner).second) left.push_back(inner);
      }
    }
  }
  return ok_status();
}

/// Differs when a model of the ensemble takes or gives other tensors.
std::string Repository::steps_fingerprint(const terms::DeclaredModel& ensemble) const {
  std::string all;
  for (const terms::EnsembleStep& step : ensemble.steps) {
    const auto sink = service_.step_of(step.model, step.version);
    all += step.model + "\n";
    if (!sink.is_ok()) continue;
    const terms::Signature& signature = (*sink)->signature();
    for (const auto* specs : {&signature.inputs, &signature.outputs}) {
      for (const terms::TensorSpec& spec : *specs) {
        all += fmt::format("{} {}\n", spec.name, spec.type.to_string());
      }
      all += "-\n";
    }
  }
  return all.empty() ? all : digest_of(all);
}

Result<terms::ModelHandle> Repository::load_ensemble(Load& load, Model& model,
                                                     const VersionFile& wanted) {
  service::OwnModel own = SLUICE_TRY(own_model(load, wanted));
  const std::set<std::string> before = steps_of(load.name);
  own.graph = SLUICE_TRY(link(load, model));
  // Without `linking_`: the first run of an ensemble may take long.
  const auto entry = service_.load_own(own);
  if (entry.is_ok()) return terms::ModelHandle{entry->info.handle};
  const std::lock_guard lock(mutex_);
  model.steps = before;
  return entry.status();
}

/// The plan of an ensemble, whose steps are the model's from then on, beside those that it has:
/// whoever links next finds them.
Result<service::OwnGraph> Repository::link(const Load& load, Model& model) {
  const terms::DeclaredModel& config = load.folder.config;
  EnsembleGraph graph = SLUICE_TRY(graph_of(config));
  graph.request.name = load.name;
  const std::lock_guard linking(linking_);
  SLUICE_TRY(check_circle(load.name, config));
  std::vector<std::shared_ptr<runtime::RequestSink>> steps;
  for (std::size_t i = 0; i < config.steps.size(); ++i) {
    const terms::EnsembleStep& step = config.steps[i];
    steps.push_back(SLUICE_TRY(
        service_.step_of(step.model, step.version).with_context(graph.request.nodes[i].name)));
  }
  auto plan = SLUICE_TRY(sandbox::plan_graph(graph.request, std::move(steps), &graph.names));
  const std::lock_guard lock(mutex_);
  for (const terms::EnsembleStep& step : config.steps) model.steps.insert(step.model);
  return service::OwnGraph{std::move(graph.request), std::move(plan)};
}

/// Those that no ensemble runs which is still served.
void Repository::unload_steps(const std::set<std::string>& steps) {
  for (const std::string& step : steps) {
    const auto model = find(step);
    if (model == nullptr || is_in_use(step)) continue;
    const std::set<std::string> inner = steps_of(step);
    {
      const std::lock_guard lock(model->changing);
      unload_model(*model);
      service_.set_absence(step, "it was unloaded with its ensemble");
    }
    unload_steps(inner);
  }
}

}  // namespace sluice::repository
