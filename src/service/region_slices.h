// Tensors of requests that lie in a session's shared memory.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/value.h"
#include "sandbox/kept_outputs.h"
#include "service/client_session.h"
#include "shm/region.h"

namespace sluice::service {

/// Where a tensor's bytes are, or should go.
struct RegionSlice {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  ///< of an output: room for it
};

/// Memory of `size_bytes` at a multiple of 64, not zeroed. Null if there is none. Of 2 MiB or more
/// in huge pages if the kernel provides them: the first write of each page costs a fault.
std::shared_ptr<std::byte> allocate_aligned(std::uint64_t size_bytes);

/// An input's bytes, 64-byte aligned.
struct PlacedInput {
  void* data = nullptr;  ///< read only
  std::shared_ptr<const void> owner;
};

/// Returns the bytes in place if `in_place` and the region is mapped; the client may then change
/// them during the read. Otherwise returns a private copy.
/// Fails: kInvalidHandle for a region of another session; kBadInput for a range outside the region,
/// or if the owner has shrunk it.
Result<PlacedInput> open_input(const ClientSession& session, const RegionSlice& place,
                               bool in_place);

/// The target of an output. Keeps the region alive.
struct PlacedOutput {
  std::shared_ptr<const shm::Region> region;
  RegionSlice place;
};

/// Where tensors of a request lie that its message does not hold: what it keeps alive until it is
/// answered.
struct PlacedTensors {
  std::vector<std::shared_ptr<const void>> owners;  ///< of inputs
  std::vector<PlacedOutput> outputs;                ///< by signature index; null regions, or fewer
  sandbox::KeptOutputs kept;
};

/// Fails: as open_input.
Result<PlacedOutput> open_output(const ClientSession& session, const RegionSlice& place);

/// Copies a finished output; what kernels work in is never the client's to change.
/// Fails: kOutOfResources where it has not enough room; kBadInput where the owner has shrunk the
/// region.
Status store(const PlacedOutput& output, const exec::TensorView& view, std::string_view name);

}  // namespace sluice::service
