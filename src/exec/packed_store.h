// Constants in the form that their backends want: from the executable where that fits, made now
// where it does not.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <tuple>
#include <vector>

#include "backend/backend.h"
#include "exec/verification.h"
#include "package/executable.h"

namespace sluice::exec {

/// Subgraph, place in its order, input.
using PackedKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using PackedIndex = std::map<PackedKey, const package::PackedConstant*>;

/// Immutable once made; shared by all kernels of a model. Keeps the packed bytes alive.
class PackedStore {
 public:
  /// `backends[i]` runs what `executable.backend_of` gives to i.
  /// What the executable has packed is added to `verification`, and good once that has run.
  /// Fails: kDataLoss for a damaged constant that is packed now; what a backend's packing reports;
  ///        kCancelled once `stop` is requested.
  static Result<PackedStore> create(
      const package::Executable& executable,
      std::span<const std::shared_ptr<const backend::Backend>> backends, Verification& verification,
      const std::stop_token& stop = {});

  /// Packed bytes of the inputs of the operation at `place` of a subgraph's order; may be empty.
  std::vector<std::span<const std::byte>> of(ir::SubgraphId subgraph, std::size_t place) const;

  /// All of them, as an executable keeps them.
  const std::vector<package::PackedConstant>& all() const { return all_; }

 private:
  Status add_subgraph(const package::Executable& executable, const PackedIndex& kept,
                      std::span<const std::shared_ptr<const backend::Backend>> backends,
                      Verification& verification, const std::stop_token& stop, ir::SubgraphId id);

  std::vector<package::PackedConstant> all_;  // by subgraph, place, input
};

}  // namespace sluice::exec
