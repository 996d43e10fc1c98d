// Which operations of a compiled model their backends run by generic kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "package/executable.h"

namespace sluice::tool {

/// Asks the backends of an executable, which must outlive it. Operations of a backend that does not
/// load on this machine count as having kernels of their own.
class GenericKernels {
 public:
  explicit GenericKernels(const package::Executable& executable);

  /// `backend`: its number in the executable; negative for operations without a kernel.
  bool run(const ir::Subgraph& subgraph, const ir::Operation& operation,
           std::int16_t backend) const;

 private:
  const package::Executable& executable_;
  std::vector<std::shared_ptr<const backend::Backend>> backends_;  ///< null: not loaded
};

}  // namespace sluice::tool
