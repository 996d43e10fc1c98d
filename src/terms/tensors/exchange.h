// Tensors that stay with a daemon, between requests or in memory shared with it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "terms/tensors/tensor.h"

namespace sluice::terms {

/// Names a tensor of the exchange; never given twice. 0 is no index.
enum class TensorIndex : std::uint64_t {};

/// A tensor that a daemon of another host offers.
struct OfferedTensor {
  std::string address;  ///< where that daemon serves other daemons
  std::uint64_t exchange = 0;
  std::string key;
};

/// Its copy here.
struct PulledTensor {
  TensorIndex index = {};
  TensorView view;  ///< without data
};

/// Reads a tensor from its daemon. Calls `take_room` with the size before it allocates, and returns
/// its error. Blocks; ends soon after a stop is requested. Safe from any thread.
using TakeRoom = std::function<Status(std::int64_t bytes)>;
using FetchTensor = std::function<Result<OutputTensor>(
    const OfferedTensor& wanted, const TakeRoom& take_room, const std::stop_token& stop)>;

/// Memory that a session shares with the daemon.
struct RegionInfo {
  std::uint64_t handle = 0;
  std::string name;  ///< of POSIX shared memory; empty for a memfd
  std::int64_t size_bytes = 0;
  bool is_ring = false;
};

/// A part of a POSIX shared memory under a name of the client's, as the Open Inference Protocol has
/// it.
struct NamedRegion {
  std::string name;
  std::string key;  ///< of the memory, "/frames"
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

/// Where in such memory a tensor's bytes are, or should go.
struct RegionSlice {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  ///< of an output: room for it
};

}  // namespace sluice::terms
