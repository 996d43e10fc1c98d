// Copies between memory of the host and a device, by way of pinned memory.
//
// The driver copies to pageable memory only while the caller waits, and a graph holds the addresses
// of its copies. So the device's half of a small copy goes to or from pinned memory, and the host's
// half is a memcpy: before the submission for bytes that go to the device, after a wait for those
// that come back.
//
//     to the device    caller's memory --memcpy--> pinned --stream--> device
//     to the host      device --stream--> pinned ------memcpy, when the stream is idle--> caller's
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plugin/device_code.h"
#include "sluice/host_backend.hpp"

namespace sluice::cuda {

/// Larger copies are the driver's, which copies them in parts while the device reads.
inline constexpr std::size_t kMaxStagedBytes = std::size_t{1} << 20;
/// Pinned memory of a stream, and of a graph at most.
inline constexpr std::size_t kPinnedBytes = std::size_t{4} << 20;

/// Pinned memory, handed out from its start on. Freed with it.
class PinnedMemory {
 public:
  /// Parts begin at multiples of this: no two share a line of a cache.
  static constexpr std::size_t kPart = 256;

  /// Requires: a context is current, which outlives the memory.
  /// Fails: as the driver
  static Status allocate(const Driver& driver, std::size_t bytes,
                         std::shared_ptr<PinnedMemory>* memory);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();

  /// Null if it has too little left.
  std::byte* take(std::size_t bytes);
  void take_all_back() { used_ = 0; }

 private:
  PinnedMemory(const Driver& driver, CuContext context, void* start, std::size_t bytes)
      : driver_(driver), context_(context), start_(static_cast<std::byte*>(start)), bytes_(bytes) {}

  const Driver& driver_;
  const CuContext context_;
  std::byte* const start_;
  const std::size_t bytes_;
  std::size_t used_ = 0;
};

/// Copies of a graph, whose addresses on the host each launch binds anew.
struct GraphCopies {
  struct Copy {
    std::byte* pinned;
    sluice_argument host;
    std::size_t bytes;
    bool is_to_device;
  };
  std::shared_ptr<PinnedMemory> memory;  ///< null if there are no copies
  std::vector<Copy> copies;              ///< in the order of the list

  /// Whether a copy to the device reads what an earlier one brings to the host. The graph would
  /// give it the bytes of before the launch.
  bool feed_each_other(std::span<void* const> bindings) const;
};

/// The copies of one stream. Used by the thread that uses the stream, with its context current.
class HostCopies {
 public:
  HostCopies() = default;
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// Submits a copy. Bytes for the device are taken before the call returns; those for the host are
  /// there after `finish`.
  /// Fails: as the driver
  Status to_device(const Driver& driver, CuStream stream, CuDevicePointer target,
                   const sluice_argument& source, std::span<void* const> bindings,
                   std::size_t bytes);
  Status to_host(const Driver& driver, CuStream stream, const sluice_argument& target,
                 std::span<void* const> bindings, CuDevicePointer source, std::size_t bytes);

  /// Until it is called with null, copies are those of a graph: `into` says what each launch has to
  /// do on the host. Requires: `into` has room for them.
  void record(GraphCopies* into) { recorded_ = into; }
  /// Fills the pinned memory of a graph, before its launch.
  /// Fails: as the driver
  Status start(const Driver& driver, CuStream stream, const GraphCopies& graph,
               std::span<void* const> bindings);
  /// Remembers what the graph brings to the host, after its launch.
  void expect(const GraphCopies& graph, std::span<void* const> bindings);

  /// Brings all bytes for the host to their places. Requires: the stream is idle.
  void finish();
  /// Forgets them: the device failed.
  void forget();
  /// Waits for the stream and finishes if bytes for the host are on their way.
  Status settle(const Driver& driver, CuStream stream);

 private:
  struct Pending {
    std::shared_ptr<PinnedMemory> memory;  // holds `from`
    const std::byte* from;
    void* to;
    std::size_t bytes;
  };

  std::byte* take(const Driver& driver, std::size_t bytes);
  Status settle_if_pending_at(const Driver& driver, CuStream stream, const void* address,
                              std::size_t bytes);

  std::shared_ptr<PinnedMemory> memory_;
  bool has_memory_failed_ = false;
  std::vector<Pending> pending_;
  GraphCopies* recorded_ = nullptr;
};

}  // namespace sluice::cuda
