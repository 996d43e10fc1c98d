// What a daemon has taken from a device with memory of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terms/field.h"

namespace sluice::terms {

/// Counts of streams, and bytes; those that only grow are since the daemon's start.
struct DevicePools {
  std::int64_t streams_in_use = 0;
  std::int64_t streams_unused = 0;
  std::int64_t streams_draining = 0;  ///< returned, with work that has not ended
  std::int64_t streams_made = 0;      ///< only grows
  std::int64_t streams_drained = 0;   ///< returned streams whose work has ended; only grows
  std::int64_t reserved_bytes = 0;    ///< taken from the device
  std::int64_t used_bytes = 0;        ///< of them, without what sizes were rounded up by
  std::int64_t idle_bytes = 0;        ///< of them, of nobody
  std::int64_t grown_bytes = 0;       ///< taken from the device; only grows
  std::int64_t shrunk_bytes = 0;      ///< given back to it; only grows
  /// What a model that was unloaded still has.
  struct Left {
    std::string client;  ///< the model's name
    std::int64_t memory_bytes = 0;
    std::int64_t num_streams = 0;

    SLUICE_FIELDS(client, memory_bytes, num_streams)
  };
  std::vector<Left> left = {};

  SLUICE_FIELDS(streams_in_use, streams_unused, streams_draining, streams_made, streams_drained,
                reserved_bytes, used_bytes, idle_bytes, grown_bytes, shrunk_bytes)
};

}  // namespace sluice::terms
