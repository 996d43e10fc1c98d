// Many requests in a ring of shared memory.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "rpc/client/client.h"

namespace sluice::rpc::client {

/// Finds what a request needs to know of its model; null if there is none.
using FindModel = std::function<std::shared_ptr<const terms::ModelEntry>(std::uint64_t)>;
/// Why the daemon has ended a ring.
using FindReason = std::function<Status()>;

/// A stream over a ring of its own, as Client::open_ring_stream says. `shared` outlives it.
/// `takes_spans`: the daemon does, from minor version 12 on.
/// Fails: as shm::SharedMemory::create and hand_over; kInvalidArgument for options out of range.
Result<std::unique_ptr<RingStream>> open_ring_stream(
    const std::string& side_socket, const std::string& token, const RingStreamOptions& options,
    bool takes_spans, FindModel find_model, FindReason find_reason, const SharedTable& shared);

}  // namespace sluice::rpc::client
