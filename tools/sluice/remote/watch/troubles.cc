#include "sluice/remote/watch/troubles.h"

#include <fmt/format.h>

#include "sluice/cli/figures.h"
#include "terms/runtime_code.h"

namespace sluice::tool {
namespace {

void add_health(const std::string& of, const terms::Health& health, std::vector<Trouble>& to) {
  using terms::HealthState;
  if (health.state == HealthState::kHealthy) return;
  to.push_back({of + ": " + health.reason, health.action, health.state == HealthState::kFailed});
}

void add_worker(const terms::GroupInfo& group, std::vector<Trouble>& to) {
  const terms::WorkerInfo& worker = group.worker;
  if (worker.reason.empty()) return;
  const bool is_ready = worker.state == "ready";
  to.push_back({fmt::format("The worker of group {} died: {}", group.id.value(), worker.reason),
                is_ready ? fmt::format("Process {} has taken its place.", worker.process)
                         : fmt::format("It is {}.", worker.state),
                !is_ready});
}

void add_errors(const terms::ModelStatistics& model, std::vector<Trouble>& to) {
  for (const terms::CodeCount& one : model.answered) {
    if (one.code == RuntimeCode::kOk || one.count == 0) continue;
    const terms::RuntimeCodeInfo& info = terms::describe(one.code);
    to.push_back({fmt::format("{}: {} of {} answers: {}", model.name, describe_count(one.count),
                              describe_count(activity::num_answered(model.answered)), info.name),
                  std::string(info.remedy)});
  }
}

}  // namespace

std::vector<Trouble> troubles_of(const activity::Snapshot& now) {
  std::vector<Trouble> all;
  if (!now.health.is_ready) {
    all.push_back({"The daemon is not ready: " + now.health.reason,
                   "Requests to models that are loaded are answered."});
  }
  for (const terms::Usage& device : now.statistics.devices) {
    add_health(fmt::format("Device {}", device.id), device.health, all);
  }
  for (const terms::GroupEntry& group : now.groups) add_worker(group.info, all);
  for (const terms::ModelHealth& model : now.health.models) {
    add_health(model.name, model.health, all);
  }
  for (const terms::ModelStatistics& model : now.statistics.models) add_errors(model, all);
  return all;
}

}  // namespace sluice::tool
