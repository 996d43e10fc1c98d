// The order in which guests' copies between host and device go.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "device/transfer/transfer_queue.h"
#include "driver/results.h"

namespace sluice::guest {

/// What one call of a guest copies.
struct CopyPiece {
  device::Direction direction = device::Direction::kToDevice;
  std::uint64_t address = 0;  ///< on the device
  std::uint64_t size_bytes = 0;
  std::uint64_t rest_bytes = 0;  ///< of the whole copy, from this piece on
  std::uint64_t stream = 0;      ///< the guest's number
  int stream_priority = 0;       ///< as CUDA counts: a lower number goes first
};

/// The transfer queues of a device whose guests make their copies themselves: a whole copy of a
/// guest is a transfer, its pieces are the blocks, and a guest's thread waits for the turn of each.
/// Safe across threads.
///
/// A turn that belongs to the next piece of a copy waits for it, or the policy would mean little:
/// between its pieces a guest has nothing to copy. `pause` ends that as soon as the guest does
/// something else or is slow, so no turn waits for a guest.
class CopyTurns {
 public:
  /// Blocks are kMaxPayloadBytes, whatever `options` says.
  /// Requires: check(options) is ok.
  explicit CopyTurns(const device::TransferOptions& options);

  /// A guest. Used by one thread.
  class Client {
   public:
    explicit Client(CopyTurns& turns);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Waits for the turn of `piece`, in which it calls `copy`; returns its result.
    /// Requires: `copy` waits for nothing but the copy itself.
    cuda::CuResult run(const CopyPiece& piece, const std::function<cuda::CuResult()>& copy);
    /// Whether `piece` goes on where the last one ended.
    bool continues(const CopyPiece& piece) const;
    /// No piece of the last copy comes now: the rest of it is a copy of its own.
    void pause();

   private:
    friend class CopyTurns;
    CopyTurns& turns_;
    device::ClientId id_;
    std::optional<CopyPiece> next_;     ///< of the copy under way; its size is not known
    device::TransferId transfer_ = {};  ///< of that copy
    // Of the turns' mutex:
    std::deque<device::TransferBlock> granted_;  ///< blocks of that copy whose turn it is
    std::condition_variable is_granted_;
  };

  /// Guests whose piece waits for its turn.
  int num_waiting() const;

 private:
  struct Lane {
    device::TransferQueue queue;
    int num_in_flight = 0;  ///< blocks granted, until their copies end
  };

  Lane& lane_of(device::Direction direction) {
    return lanes_.at(static_cast<std::size_t>(direction));
  }
  void begin_locked(Client& client, const CopyPiece& piece);
  void end_locked(Client& client, device::Direction direction, const device::TransferBlock& block,
                  cuda::CuResult result);
  void drop_locked(Client& client, device::Direction direction);
  void grant_locked(Lane& to);

  const int max_in_flight_;
  mutable std::mutex mutex_;  // guards what follows
  std::array<Lane, 2> lanes_;
  std::map<device::ClientId, Client*> clients_;
  std::int32_t num_clients_ = 0;  ///< of all time
  std::uint64_t num_transfers_ = 0;
  int num_waiting_ = 0;
};

}  // namespace sluice::guest
