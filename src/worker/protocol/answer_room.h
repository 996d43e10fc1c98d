// The room for an answer: a table, and behind it the outputs where a worker's kernels write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "package/executable.h"
#include "runtime/request/request.h"

namespace sluice::worker {

/// Room for all outputs and a table: exact for outputs of known size, a guess for each other one.
std::int64_t first_room_bytes(const terms::Signature& signature);

/// Memory in `room` for each output of known size that fits, where `write_bundle` leaves it. The
/// data of others is null: the runtime allocates them, and `write_bundle` copies them.
std::vector<terms::OutputMemory> outputs_in(std::span<std::byte> room,
                                            const terms::Signature& signature);

}  // namespace sluice::worker
