// What a container gets, so that it reaches the daemon of its node and knows its core groups.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "rpc/kubelet/core_units.h"

namespace sluice::rpc::kubelet {

/// How the containers of a node reach its daemon.
struct PodAccess {
  std::string socket;      ///< path of the daemon's Unix socket, the same in a container
  std::int32_t cores = 1;  ///< of a core group
  std::string kind = "sluice.dev/coregroup";  ///< of CDI devices, which is the resource's name
};

/// The folder of the socket: containers mount it, because a daemon that starts again makes the
/// socket's file anew. They mount it read-only, which lets them connect: root in a container could
/// otherwise put a socket of its own in the place of the daemon's, and get what others send.
std::string socket_folder(const PodAccess& access);

/// SLUICE_ADDRESS; SLUICE_CORE_GROUPS, the units' ids; SLUICE_CORES and SLUICE_DEVICES, with which
/// a client makes a group of as many cores on the same devices.
std::map<std::string, std::string> environment_of(const PodAccess& access,
                                                  std::span<const CoreUnit> units);

/// "sluice.dev/coregroup=device0-group1"
std::string cdi_name(const PodAccess& access, const CoreUnit& unit);

/// A file of the Container Device Interface, with a device per unit: a JSON object and its end of
/// line. The format: https://github.com/cncf-tags/container-device-interface, SPEC.md, 0.5.0.
std::string cdi_document(const PodAccess& access, std::span<const CoreUnit> units);

}  // namespace sluice::rpc::kubelet
