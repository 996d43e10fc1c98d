// A request in an entry of a client's ring, and its reply.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "rpc/client/infer_stream.h"
#include "rpc/client/shared_tensors.h"
#include "shm/ring_layout.h"
#include "terms/server/server.h"

namespace sluice::rpc::client {

/// An entry that is taken from its ring, and its part of the ring's region for tensors that are not
/// shared themselves. Used by one thread at a time.
struct RingEntry {
  std::uint32_t index = 0;
  std::uint64_t region = 0;
  std::uint64_t offset = 0;  ///< of `memory` in the region
  std::span<std::byte> memory;
  /// Outputs of unknown size get what is left of `memory`; one that needs more fails the request.
  bool has_room_for_unknown = false;
  /// Whether the caller's span goes along. A daemon before minor version 12 refuses trace flags.
  bool takes_span = true;
  shm::Submission submission;
};

/// Writes the submission and copies inputs that are not in `shared`. False if the entry cannot
/// carry the request: too many or too large tensors, strings, outputs of unknown size.
bool fill(RingEntry& entry, const terms::ModelEntry& model,
          const std::vector<terms::NamedTensor>& inputs, const InferOptions& options,
          const SharedTable& shared);

/// The reply to the entry's submission. Its outputs are views of the entry's memory, or of the
/// memory that `options` names. `owner` gives the entry back.
/// Fails: as the daemon says.
Result<InferReply> read_reply(const RingEntry& entry, const shm::Completion& completion,
                              const terms::ModelEntry& model, const InferOptions& options,
                              std::shared_ptr<const void> owner);

}  // namespace sluice::rpc::client
