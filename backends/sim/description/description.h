// The machine to simulate, as its JSON text describes it. docs/sim.md is the schema for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "description/fault.h"

namespace sluice::sim {

/// The duration of a kernel. The first source that is present decides: the operator's entry in
/// `operator_ns`, `kernel_ns`, the cost model. Rates are per core; the cores of a group add up.
struct Compute {
  std::map<std::string, std::int64_t> operator_ns;  ///< by kind: "Conv", "sluice::Elementwise"
  std::optional<std::int64_t> kernel_ns;
  double flops_per_s = 1e11;
  double bytes_per_s = 5e10;
  std::int64_t launch_ns = 1000;  ///< added by the cost model
  std::int64_t switch_ns = 0;     ///< before a kernel of another program than the group's last
};

/// A way that bytes take, and how many copies take it at once, each at the full rate.
struct CopyPath {
  int engines = 1;
  double bytes_per_s = 1.6e10;
  std::int64_t latency_ns = 1000;
};

enum class PartitionScheme { kExact, kGreen, kMask };

/// How groups share the device (engine/partition.h).
struct Partition {
  PartitionScheme scheme = PartitionScheme::kExact;
  int minimum = 8;            ///< cores of a green context; compute capability 9.0 and later
  int alignment = 8;          ///< to which the number is rounded up
  int block_elements = 1024;  ///< of output 0 in a block of a masked kernel
  bool is_checked = true;     ///< lost work of a masked kernel is found and repeated
};

struct Device {
  std::string name = "simulated";
  std::string bus_address;
  int cores = 4;
  std::int64_t memory_bytes = std::int64_t{16} << 30;
  bool own_memory = true;
  bool host_memory = true;       ///< kernels reach the host's memory
  bool exclusive_cores = false;  ///< a core is in one group at a time
  Partition partition;
  Compute compute;
  CopyPath to_device;
  CopyPath to_host;
  CopyPath within = {1, 2e11, 200};
};

/// A connection of two devices; each direction carries one copy at a time.
struct Link {
  int device_a = 0;
  int device_b = 1;
  CopyPath path = {1, 2.5e10, 700};
};

enum class JitterKind { kNone, kUniform, kNormal, kExponential };

/// Every duration is multiplied by a random factor of mean 1 + (exponential: spread, else: 0).
struct Jitter {
  JitterKind kind = JitterKind::kNone;
  double spread = 0;
};

struct Description {
  std::uint64_t seed = 1;
  Jitter jitter;
  std::int64_t max_log_bytes = std::int64_t{16} << 20;
  std::vector<Device> devices = {Device{}};
  std::vector<Link> links;
  std::vector<Fault> faults;
};

/// Fails: SLUICE_INVALID_ARGUMENT with the path of the key and what it takes.
Status parse_description(std::string_view text, Description* description);

}  // namespace sluice::sim
