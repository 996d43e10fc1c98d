// Constants in the form that their backends want: from the executable where that fits, made now
// where it does not.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "package/executable.h"

namespace sluice::exec {

/// Immutable once made; shared by all kernels of a model. Keeps the packed bytes alive.
class PackedStore {
 public:
  /// `backends[i]` runs what `executable.backend_of` gives to i.
  /// Fails: kDataLoss for a damaged packed constant; what a backend's packing reports.
  static Result<PackedStore> create(
      const package::Executable& executable,
      std::span<const std::shared_ptr<const backend::Backend>> backends);

  /// Packed bytes of the inputs of the operation at `place` in the main order; may be empty.
  std::vector<std::span<const std::byte>> of(std::size_t place) const;

  /// All of them, as an executable keeps them.
  const std::vector<package::PackedConstant>& all() const { return all_; }

 private:
  std::vector<package::PackedConstant> all_;  // by place, then input
};

}  // namespace sluice::exec
