// Core groups, and the processes that run their models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terms/device.h"
#include "terms/field.h"

namespace sluice::terms {

struct CoreGroupTag;
/// Handle of a core group, unique for the life of the process.
using CoreGroupId = Id<CoreGroupTag>;

/// Explicit: a client creates the group, loads models on it, and destroys it. Implicit: a load
/// creates the group for its model, later loads may share it, and the unload of the last model
/// destroys it.
enum class GroupOrigin { kExplicit, kImplicit };

/// The process that runs a group's models.
enum class Isolation : std::uint8_t {
  kStream,  ///< the process of the engine
  kProcess  ///< a worker of the group, which is restarted when it dies
};
/// "stream", "process".
std::string_view isolation_name(Isolation isolation);
/// Fails: kInvalid; the message lists the names.
Result<Isolation> parse_isolation(std::string_view name);

/// The worker of a group.
struct WorkerInfo {
  Isolation isolation = Isolation::kStream;  ///< kStream: the other fields are empty
  std::int64_t process = -1;                 ///< -1 while there is none
  std::int64_t num_restarts = 0;
  std::string state;   ///< "starting", "ready", "silent", "restarting", "failed"
  std::string reason;  ///< of its last death
};

/// Bytes by what they are for: "constants", "arenas", "queues".
struct MemoryItem {
  std::string category;
  std::int64_t bytes = 0;
};
/// A limit of bytes that is none.
inline constexpr std::int64_t kUnlimitedBytes = -1;

struct GroupInfo {
  CoreGroupId id = {};
  GroupOrigin origin = GroupOrigin::kExplicit;
  std::vector<CoreRef> cores;
  std::int32_t num_models = 0;
  std::string active_model;  ///< empty if none is started
  std::int64_t num_switches = 0;
  std::int64_t memory_used_bytes = 0;
  std::int64_t max_memory_bytes = kUnlimitedBytes;
  WorkerInfo worker;  ///< of a group in process isolation

  SLUICE_FIELDS(num_models, active_model, num_switches, memory_used_bytes, max_memory_bytes)
};

}  // namespace sluice::terms
