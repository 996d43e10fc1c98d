// Constants in the layout that their backends ask for: taken from the executable if its packed form
// matches, packed at load otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "backend/backend.h"
#include "exec/constants/verification.h"
#include "package/draft.h"
#include "package/executable.h"

namespace sluice::exec {

/// Immutable once made; shared by all kernels of a model. Keeps the packed bytes alive.
class PackedStore {
 public:
  PackedStore() = default;
  /// `backends[i]` runs the operations with `executable.backend_of` == i. Packed bytes taken from
  /// the executable are added to `verification` and may be used once it has succeeded. Constants
  /// that are packed now go to `draft`, one at a time; null: the store keeps their bytes.
  /// Fails: kFailedPrecondition for a constant that is left out and whose packed form does not fit;
  ///        kDataLoss for a damaged constant that is packed now; what a backend's packing reports;
  ///        kCancelled once `stop` is requested.
  static Result<PackedStore> create(
      const package::Executable& executable,
      std::span<const std::shared_ptr<const backend::Backend>> backends, Verification& verification,
      const std::stop_token& stop = {}, package::Draft* draft = nullptr);

  /// Packed bytes of the inputs of the operation at `position` of a subgraph's order; may be empty.
  std::vector<std::span<const std::byte>> of(ir::SubgraphId subgraph, std::size_t position) const;

  /// All packed constants, in the form that an executable stores.
  const std::vector<package::PackedConstant>& all() const { return all_; }
  /// Bytes of those that are not the executable's.
  std::int64_t own_bytes() const { return own_bytes_; }

 private:
  std::vector<package::PackedConstant> all_;  // by subgraph, position, input
  std::int64_t own_bytes_ = 0;
};

}  // namespace sluice::exec
