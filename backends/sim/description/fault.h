// Something that goes wrong on demand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "description/json_reader.h"

namespace sluice::sim {

enum class FaultKind {
  kSlowCore,         ///< kernels on the core take `factor` times as long
  kFailedKernel,     ///< a kernel takes its time and then fails, nothing written
  kHungKernel,       ///< a kernel never completes
  kFailedCopy,       ///< a copy takes its time and then fails, nothing written
  kLostDevice,       ///< all work of the device fails until it is reset
  kMemoryExhausted,  ///< an allocation fails
};

const char* name_of(FaultKind kind);

struct Fault {
  std::int64_t id = 0;
  FaultKind kind = FaultKind::kSlowCore;
  int device = -1;  ///< -1: any
  int core = -1;    ///< -1: any
  double factor = 1;
  std::string operator_kind;  ///< "" : any
  std::string node;           ///< "" : any
  std::int64_t from_ns = 0;   ///< what happens before does not count
  std::int64_t nth = 1;       ///< the first matching event that fails
  std::int64_t count = 1;     ///< the number of failing events from there on; 0: all
  sluice_code code = SLUICE_INTERNAL;
  std::string message;

  std::int64_t seen = 0;  ///< events that matched
};

/// Reads an entry of "faults". `num_devices` bounds "device". Errors go to `status`.
Fault read_fault(const Json& json, const std::string& path, int num_devices, Status* status);

/// What an event is matched by.
struct FaultTarget {
  int device = 0;
  std::string_view operator_kind = {};
  std::string_view node = {};
};

/// The faults there are now, in the order of their ids.
class FaultTable {
 public:
  std::int64_t add(Fault fault);
  /// Whether there was such a fault; -1 removes all.
  bool remove(std::int64_t id);
  void remove_losses_of(int device);

  /// Counts an event; the first fault that hits it, or null.
  const Fault* hit(FaultKind kind, const FaultTarget& target, std::int64_t now_ns);
  /// The largest factor of slow cores among `cores`, 1 if none is slow.
  double slowness(int device, const std::vector<int>& cores, std::int64_t now_ns) const;

  const std::vector<Fault>& all() const { return faults_; }

 private:
  std::vector<Fault> faults_;
  std::int64_t next_id_ = 1;
};

}  // namespace sluice::sim
