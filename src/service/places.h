// Tensors of requests that lie in a session's shared memory.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/value.h"
#include "service/session.h"
#include "shm/region.h"

namespace sluice::service {

/// Where a tensor's bytes are, or should go.
struct Place {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  ///< of an output: room for it
};

/// An input's bytes, 64-byte aligned.
struct PlacedInput {
  void* data = nullptr;  ///< read only
  std::shared_ptr<const void> owner;
};

/// The bytes themselves where `in_place` and the region is mapped: then they may change under the
/// reader's hands. Else a copy, whose bytes are what they are from now on.
/// Fails: kInvalidHandle for a region that is not the session's; kBadInput for a place that is not
///        in it, or where the owner has shrunk it.
Result<PlacedInput> open_input(const Session& session, const Place& place, bool in_place);

/// Where an output goes when it is there. Keeps the region.
struct PlacedOutput {
  std::shared_ptr<const shm::Region> region;
  Place place;
};

/// Fails: as open_input.
Result<PlacedOutput> open_output(const Session& session, const Place& place);

/// Copies a finished output; what kernels work in is never the client's to change.
/// Fails: kInvalid where it has not enough room; kBadInput where the owner has shrunk the region.
Status store(const PlacedOutput& output, const exec::TensorView& view, std::string_view name);

}  // namespace sluice::service
