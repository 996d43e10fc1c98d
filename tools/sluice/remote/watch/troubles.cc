#include "sluice/remote/watch/troubles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/plural.h"
#include "sluice/cli/figures.h"
#include "sluice/devices/device_table.h"
#include "terms/runtime_code.h"

namespace sluice::tool {
namespace {

void add_health(const std::string& of, const terms::Health& health, std::vector<Trouble>& to) {
  using terms::HealthState;
  if (health.state == HealthState::kHealthy) return;
  to.push_back({of + ": " + health.reason, health.action, health.state == HealthState::kFailed});
}

/// "It is being restarted, try again." of "it is being restarted, try again".
std::string sentence(std::string text) {
  if (text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text + '.';
}

/// Adds a worker that died, is silent, or did not start. Its reason may go on behind "; ".
void add_worker(const terms::GroupInfo& group, std::vector<Trouble>& to) {
  const terms::WorkerInfo& worker = group.worker;
  if (worker.reason.empty()) return;
  const std::size_t end = std::min(worker.reason.find("; "), worker.reason.size());
  const std::string cause = worker.reason.substr(0, end);
  const std::string what = cause.starts_with("worker of group ")
                               ? "The " + cause
                               : fmt::format("The worker of group {}: {}", group.id.value(), cause);
  const bool is_ready = worker.state == "ready";
  std::string next = "it is " + worker.state;
  if (is_ready) {
    next = fmt::format("process {} has taken its place", worker.process);
  } else if (end + 2 < worker.reason.size()) {
    next = worker.reason.substr(end + 2);
  }
  to.push_back({what, sentence(std::move(next)), !is_ready});
}

void add_errors(const terms::ModelStatistics& model, std::vector<Trouble>& to) {
  for (const terms::CodeCount& one : model.answered) {
    if (one.code == RuntimeCode::kOk || one.count == 0) continue;
    const terms::RuntimeCodeInfo& info = terms::describe(one.code);
    to.push_back(
        {fmt::format("{}: {} of {}: {}", model.name, describe_count(one.count),
                     describe_count(activity::num_answered(model.answered), "answer"), info.name),
         std::string(info.remedy)});
  }
}

void add_left(const terms::Usage& device, std::vector<Trouble>& to) {
  if (!device.pools) return;
  for (const terms::DevicePools::Left& left : device.pools->left) {
    to.push_back(
        {fmt::format("Device {}: {}, which is unloaded, left {} and {}", device.id, left.client,
                     format_bytes(left.memory_bytes), counted(left.num_streams, "stream")),
         "Report it: Sluice or a plug-in has a defect. A new start of the daemon frees "
         "them.",
         false});
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
    add_left(device, all);
  }
  for (const terms::GroupEntry& group : now.groups) add_worker(group.info, all);
  for (const terms::ModelHealth& model : now.health.models) {
    add_health(model.name, model.health, all);
  }
  for (const terms::ModelStatistics& model : now.statistics.models) add_errors(model, all);
  return all;
}

}  // namespace sluice::tool
