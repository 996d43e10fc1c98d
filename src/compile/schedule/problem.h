// What a scheduler decides on: tasks, the tensors between them, devices and the links of those.
// Plain data; knows neither graphs nor backends.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::compile {

/// The cost of a task on a device that cannot run it.
inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();

/// The time of a copy between two devices: `latency_ns` plus `ns_per_byte` for each byte.
struct TransferCost {
  double latency_ns = 0;
  double ns_per_byte = 0;

  double of(std::int64_t size_bytes) const {
    return latency_ns + ns_per_byte * static_cast<double>(size_bytes);
  }
};

/// A tensor that a task writes, or the host where `producer` is -1.
struct TaskTensor {
  int producer = -1;
  std::int64_t size_bytes = 0;
  bool is_result = false;  ///< the host reads it in the end
};

struct Task {
  std::vector<double> cost_ns;      ///< by device; kCannotRun where a device has no kernel
  std::vector<int> inputs;          ///< indices of tensors
  std::vector<int> outputs;         ///< indices of tensors
  std::int64_t constant_bytes = 0;  ///< that the device of the task keeps
};

struct ScheduleDevice {
  std::int64_t memory_bytes = 0;  ///< 0: no limit
  /// Time of a run of tasks that follow one another on the device, beside their own times.
  double launch_ns = 0;
};

struct ScheduleProblem {
  std::vector<Task> tasks;  ///< in an order in which each reads what earlier ones wrote
  std::vector<TaskTensor> tensors;
  std::vector<ScheduleDevice> devices;
  /// transfers[from][to]; the last index of both is the host.
  std::vector<std::vector<TransferCost>> transfers;
  /// All tasks and copies run one after another, as the linear executor runs a request. Otherwise
  /// each device and each direction of a link works by itself.
  bool is_sequential = true;

  std::size_t host() const { return devices.size(); }
};

/// Device of each task; -1 for a task without kernel on any device.
using Assignment = std::vector<int>;

}  // namespace sluice::compile
