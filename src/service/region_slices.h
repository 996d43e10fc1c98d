// Tensors of requests that lie in a session's shared memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "sandbox/kept_outputs.h"
#include "service/client_session.h"
#include "shm/region.h"
#include "terms/tensors/exchange.h"

namespace sluice::service {

/// An input's bytes, 64-byte aligned.
struct PlacedInput {
  void* data = nullptr;  ///< read only
  std::shared_ptr<const void> owner;
};

/// Returns the bytes in place if `in_place` and the region is mapped; the client may then change
/// them during the read. Otherwise returns a private copy.
/// Fails: kInvalidHandle for a region of another session; kBadInput for a range outside the region,
/// or if the owner has shrunk it.
Result<PlacedInput> open_input(const ClientSession& session, const terms::RegionSlice& place,
                               bool in_place);

/// The target of an output. Keeps the region alive.
struct PlacedOutput {
  std::shared_ptr<const shm::Region> region;
  terms::RegionSlice place;
};

/// Where tensors of a request lie that its message does not hold: what it keeps alive until it is
/// answered.
struct PlacedTensors {
  std::vector<std::shared_ptr<const void>> owners;  ///< of inputs
  std::vector<PlacedOutput> outputs;                ///< by signature index; null regions, or fewer
  sandbox::KeptOutputs kept;
};

/// Fails: as open_input.
Result<PlacedOutput> open_output(const ClientSession& session, const terms::RegionSlice& place);

/// The same for bytes in a region that has a name; an input is always a copy, an offset any.
/// `place.region` is not read. Fails: kInvalidHandle for a name that the session has not; as above.
Result<PlacedInput> open_named_input(const ClientSession& session, std::string_view name,
                                     const terms::RegionSlice& place);
Result<PlacedOutput> open_named_output(const ClientSession& session, std::string_view name,
                                       const terms::RegionSlice& place);

/// Copies a finished output; what kernels work in is never the client's to change.
/// Fails: kOutOfResources where it has not enough room; kBadInput where the owner has shrunk the
/// region.
Status store(const PlacedOutput& output, std::span<const std::byte> bytes, std::string_view name);
Status store(const PlacedOutput& output, const terms::TensorView& view, std::string_view name);

}  // namespace sluice::service
