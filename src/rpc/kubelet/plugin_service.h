// The calls that a kubelet makes to its plugin.
#pragma once

#include "proto/kubelet/deviceplugin.grpc.pb.h"
#include "rpc/kubelet/pod_access.h"
#include "rpc/kubelet/unit_table.h"

namespace sluice::rpc::kubelet {

/// Any number of calls at a time, each on a thread that gRPC keeps for it.
class PluginService final : public v1beta1::DevicePlugin::Service {
 public:
  /// `units` and `access` outlive this. `uses_cdi`: containers get what the CDI file says.
  PluginService(const UnitTable& units, const PodAccess& access, bool uses_cdi)
      : units_(units), access_(access), uses_cdi_(uses_cdi) {}

  static v1beta1::DevicePluginOptions options();

  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const v1beta1::Empty* request,
                                      v1beta1::DevicePluginOptions* response) override;
  /// The units now, and at each change, until the caller or the server ends the call.
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty* request,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override;
  grpc::Status GetPreferredAllocation(grpc::ServerContext* context,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override;
  /// NOT_FOUND for a unit that is not there, UNAVAILABLE for one that is not healthy.
  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override;
  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse* response) override;

 private:
  const UnitTable& units_;
  const PodAccess& access_;
  const bool uses_cdi_;
};

}  // namespace sluice::rpc::kubelet
