// The hosts of a program's models.
#pragma once

#include <array>
#include <vector>

#include "runtime/handle_table.h"
#include "runtime/model_host.h"

namespace sluice::runtime {

/// Finds the host of a model by its handle, and treats all hosts alike. Calls are safe from
/// any thread. Requires: the calls of `add` have returned before the first other call.
class HostDirectory {
 public:
  /// `host` outlives the directory. Requires: no other host has this kind.
  void add(HandleKind kind, ModelHost& host) { hosts_[static_cast<std::size_t>(kind)] = &host; }

  /// The engine for handles of a host that is not here: it has no such model. Requires: an engine.
  ModelHost& find(std::uint64_t handle) const;

  /// Leaves out models that serve a model of another host.
  std::vector<terms::ModelInfo> list() const;

  /// Users before what they use, with one deadline, so that the drains overlap.
  void shutdown(std::int64_t drain_deadline_ns) const;

 private:
  ModelHost* host(HandleKind kind) const { return hosts_[static_cast<std::size_t>(kind)]; }

  std::array<ModelHost*, kNumKinds> hosts_ = {};
};

}  // namespace sluice::runtime
