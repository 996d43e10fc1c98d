// The part of Service that brings devices back.
#include <algorithm>
#include <set>

#include "runtime/engine.h"
#include "service/service.h"

namespace sluice::service {

using terms::ModelHandle;

/// Those that have a core of it.
std::vector<Service::HostedModel> Service::models_on(terms::DeviceId device) const {
  std::set<terms::CoreGroupId> groups;
  for (const terms::GroupInfo& group : all_groups()) {
    if (std::ranges::find(group.cores, device, &terms::CoreRef::device) != group.cores.end()) {
      groups.insert(group.id);
    }
  }
  std::vector<HostedModel> models = all_models();
  std::erase_if(models, [&](const HostedModel& one) { return !groups.contains(one.info.group); });
  return models;
}

Result<std::vector<terms::ModelEntry>> Service::reset_device(const Caller& caller,
                                                             terms::DeviceId device) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  const std::vector<HostedModel> models = models_on(device);
  if (!is_administrator(caller.peer)) {
    for (const HostedModel& one : models) {
      SLUICE_TRY(
          find_to_control(caller, ModelHandle{one.info.handle})
              .status()
              .with_context(fmt::format("resetting device {} ends the requests of model \"{}\"",
                                        device.value(), one.info.name)));
    }
  }
  SLUICE_TRY(engine_.reset_device(device));
  log_.add(LogLevel::kInfo, "device.reset device={} session={} by={}", device.value(),
           static_cast<std::uint64_t>(caller.session->id()), in_quotes(account_of(caller.peer)));
  std::vector<terms::ModelEntry> stopped;
  for (const HostedModel& one : models) {
    const ModelHandle handle{one.info.handle};
    const auto info = one.host->info(handle);
    if (!info.is_ok() || info->phase != terms::ModelPhase::kFailed) continue;
    const Status status = one.host->reset(handle);
    const auto served = models_.find(handle);  // not there while it is being loaded
    if (served.is_ok()) update_replying(*served, handle);
    if (!status.is_ok()) return status;
    for (terms::ModelEntry& entry : SLUICE_TRY(list_models(one.info.handle))) {
      stopped.push_back(std::move(entry));
    }
  }
  return stopped;
}

}  // namespace sluice::service
