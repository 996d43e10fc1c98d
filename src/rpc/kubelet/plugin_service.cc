#include "rpc/kubelet/plugin_service.h"

#include <cstdint>
#include <string>
#include <vector>

#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::kubelet {
namespace {

v1beta1::ListAndWatchResponse list_of(const std::vector<CoreUnit>& units) {
  v1beta1::ListAndWatchResponse list;
  for (const CoreUnit& unit : units) {
    v1beta1::Device& device = *list.add_devices();
    device.set_id(unit.id);
    device.set_health(unit.is_healthy ? "Healthy" : "Unhealthy");
    if (unit.numa_node >= 0) device.mutable_topology()->add_nodes()->set_id(unit.numa_node);
  }
  return list;
}

Result<std::vector<CoreUnit>> healthy_units(const std::vector<CoreUnit>& units,
                                            const v1beta1::ContainerAllocateRequest& request) {
  std::vector<CoreUnit> found;
  for (const std::string& id : request.devices_ids()) {
    const CoreUnit* unit = find_unit(units, id);
    if (unit == nullptr) return make_error(Code::kNotFound, "this node has no core group {}", id);
    if (!unit->is_healthy) {
      return make_error(Code::kUnavailable, "core group {} is not healthy: sluiced is not ready",
                        id);
    }
    found.push_back(*unit);
  }
  return found;
}

Status prefer(const std::vector<CoreUnit>& units,
              const v1beta1::ContainerPreferredAllocationRequest& request,
              v1beta1::ContainerPreferredAllocationResponse& response) {
  const std::vector<std::string> available(request.available_deviceids().begin(),
                                           request.available_deviceids().end());
  const std::vector<std::string> required(request.must_include_deviceids().begin(),
                                          request.must_include_deviceids().end());
  const auto chosen =
      SLUICE_TRY(preferred_units(units, available, required, request.allocation_size()));
  for (const std::string& id : chosen) response.add_deviceids(id);
  return ok_status();
}

void answer(const PodAccess& access, const std::vector<CoreUnit>& units, bool uses_cdi,
            v1beta1::ContainerAllocateResponse& response) {
  for (const auto& [name, value] : environment_of(access, units)) {
    (*response.mutable_envs())[name] = value;
  }
  if (uses_cdi) {
    for (const CoreUnit& unit : units) response.add_cdi_devices()->set_name(cdi_name(access, unit));
    return;
  }
  v1beta1::Mount& mount = *response.add_mounts();
  mount.set_host_path(socket_folder(access));
  mount.set_container_path(socket_folder(access));
  mount.set_read_only(true);
}

}  // namespace

v1beta1::DevicePluginOptions PluginService::options() {
  v1beta1::DevicePluginOptions options;
  options.set_get_preferred_allocation_available(true);
  return options;
}

grpc::Status PluginService::GetDevicePluginOptions(grpc::ServerContext* /*context*/,
                                                   const v1beta1::Empty* /*request*/,
                                                   v1beta1::DevicePluginOptions* response) {
  *response = options();
  return grpc::Status::OK;
}

grpc::Status PluginService::ListAndWatch(
    grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
    grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) {
  std::int64_t sent = 0;
  while (!context->IsCancelled()) {
    const UnitTable::State now = units_.after(sent, wire::kLookNs);
    if (now.version == sent) continue;
    if (!writer->Write(list_of(now.units))) break;
    sent = now.version;
  }
  return grpc::Status::CANCELLED;
}

grpc::Status PluginService::GetPreferredAllocation(
    grpc::ServerContext* /*context*/, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const auto work = [&]() -> Status {
    SLUICE_TRY(wire::inflate(*request));
    const auto units = units_.now().units;
    for (const auto& container : request->container_requests()) {
      SLUICE_TRY(prefer(units, container, *response->add_container_responses()));
    }
    return ok_status();
  };
  return wire::to_grpc(work());
}

grpc::Status PluginService::Allocate(grpc::ServerContext* /*context*/,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) {
  const auto work = [&]() -> Status {
    SLUICE_TRY(wire::inflate(*request));
    const auto units = units_.now().units;
    for (const auto& container : request->container_requests()) {
      const auto found = SLUICE_TRY(healthy_units(units, container));
      answer(access_, found, uses_cdi_, *response->add_container_responses());
    }
    return ok_status();
  };
  return wire::to_grpc(work());
}

grpc::Status PluginService::PreStartContainer(grpc::ServerContext* /*context*/,
                                              const v1beta1::PreStartContainerRequest* /*request*/,
                                              v1beta1::PreStartContainerResponse* /*response*/) {
  return grpc::Status::OK;
}

}  // namespace sluice::rpc::kubelet
