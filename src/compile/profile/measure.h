// Measures single operations on a backend.
#pragma once

#include <memory>
#include <optional>

#include "backend/group.h"
#include "compile/profile/operator_profile.h"
#include "ir/graph.h"

namespace sluice::compile {

/// Runs operations one at a time on cores of device 0 of a backend, on made-up inputs. On a
/// simulated device it takes the backend's own estimate, which is what its clock would show.
///
/// Owns the cores while it lives. Used by one thread.
class OperationTimer {
 public:
  /// Fails: what reserving the cores reports.
  static Result<OperationTimer> create(std::shared_ptr<const backend::Backend> backend,
                                       int num_cores);

  /// The median of repeated runs in ns. nullopt where the backend does not take the operation, or
  /// it cannot be run by itself: shapes that are not known, strings, too little memory of the
  /// device. Fails: what the backend reports of an operation that it takes.
  Result<std::optional<double>> time_ns(const ir::Graph& graph, const ir::Subgraph& subgraph,
                                        const ir::Operation& operation) const;

  const backend::Backend& backend() const { return *backend_; }

 private:
  OperationTimer(std::shared_ptr<const backend::Backend> backend,
                 std::shared_ptr<const backend::Group> group)
      : backend_(std::move(backend)), group_(std::move(group)) {}
  std::shared_ptr<const backend::Backend> backend_;
  std::shared_ptr<const backend::Group> group_;
};

struct HandOver {
  TransferCost to_device;
  TransferCost from_device;
  std::optional<TransferCost> between_devices;  ///< see DeviceProfile
  double launch_ns = 0;                         ///< of a list without operations
};

/// What it takes to hand work to device 0 and get it back, measured; of a simulated device by its
/// clock. No copies for a device that computes in host memory.
Result<HandOver> measure_hand_over(const std::shared_ptr<const backend::Backend>& backend,
                                   int num_cores);

/// Times every operation of the main subgraph, equal ones once, on each backend that takes it.
/// Requires: types are inferred.
Result<OperatorProfile> measure_operators(
    const ir::Graph& graph, std::span<const std::shared_ptr<const backend::Backend>> backends,
    int num_cores);

}  // namespace sluice::compile
