// A device plugin of Kubernetes: core groups as an extended resource of a node.
// https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "rpc/kubelet/core_units.h"
#include "rpc/kubelet/pod_access.h"

namespace sluice::rpc::kubelet {

struct DevicePluginOptions {
  PodAccess access;
  std::filesystem::path folder = "/var/lib/kubelet/device-plugins";  ///< of the kubelet's socket
  /// Where container runtimes read CDI files; empty: the kubelet gets environment and mount.
  std::filesystem::path cdi_folder = {};
};

/// Serves the kubelet on threads of its own. The kubelet counts the units and chooses them for
/// containers; the daemon alone says which cores a group has, and frees them when their client
/// ends, so nothing here has to learn which pods have gone.
///
///     waiting --kubelet.sock is there, units are known--> registered
///        ^                                                    |
///        +--its socket's file vanishes, or another kubelet----+
class DevicePlugin {
 public:
  /// `look`: the units now, with their health; called by `step`. Fails: kInvalidArgument for
  /// options that no kubelet, or no container, could use.
  static Result<std::unique_ptr<DevicePlugin>> create(
      DevicePluginOptions options, std::function<Result<std::vector<CoreUnit>>()> look);
  DevicePlugin() = default;
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;
  /// Ends all calls.
  virtual ~DevicePlugin() = default;

  /// Looks at the units and at the kubelet's folder, and does what is due. To be called about once
  /// a second, from one thread. Without an answer from `look` the units are those before, and
  /// unhealthy. Fails: what keeps the plugin from being registered now; the next step tries again.
  virtual Status step() = 0;
};

}  // namespace sluice::rpc::kubelet
