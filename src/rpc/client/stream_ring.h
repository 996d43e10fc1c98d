// The ring of a stream, and who has its entries.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "rpc/client/client.h"
#include "rpc/client/ring_entry.h"
#include "rpc/client/side_client.h"
#include "shm/ring_client.h"
#include "shm/shared_memory.h"

namespace sluice::rpc::client {

/// Shared by a stream and its replies, whose outputs lie in entries. One thread at a time calls
/// `take` and `wait`; any thread calls the others.
class StreamRing : public std::enable_shared_from_this<StreamRing> {
 public:
  struct Entry : RingEntry {
    std::uint64_t id = 0;  ///< the caller's
    std::shared_ptr<const terms::ModelEntry> model;
    bool is_in_flight = false;
  };

  /// Fails: as shm::SharedMemory::create and hand_over; kInvalidArgument for options out of range.
  static Result<std::shared_ptr<StreamRing>> create(const std::string& side_socket,
                                                    const std::string& token,
                                                    const RingStreamOptions& options);
  StreamRing(shm::SharedMemory memory, Handed handed, const RingStreamOptions& options);
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;
  ~StreamRing() = default;

  /// Null after `close`. Blocks while all are in use.
  Entry* take_entry();
  /// Null after `close`, or if all are in use.
  Entry* try_take_entry();
  void give_back(Entry* entry);

  /// False after `close`.
  bool submit(Entry& entry);
  /// Tells the daemon to cancel the request with the caller's id, if it is in flight. False if the
  /// ring has no room for that.
  bool cancel(std::uint64_t id);
  /// Whether the daemon has not yet passed on, or refused, all that was submitted.
  bool has_untaken() const;

  /// The entry of the next completion, which is in `completion`; null without one.
  Entry* take(shm::Completion& completion);
  /// Returns when there may be a completion, or the ring is over or closed.
  void wait();

  std::size_t num_in_flight() const;
  /// Takes no more requests.
  void close();
  bool is_closed() const;
  /// The daemon ends the ring, and cancels what is in it, when the connection ends.
  void abort();
  bool is_aborted() const { return is_aborted_.load(); }
  /// Nothing more comes.
  bool is_over() const { return is_aborted_.load() || is_lost_.load() || ring_.is_closed(); }

 private:
  const shm::SharedMemory memory_;
  const Handed handed_;
  shm::RingClient ring_;
  std::vector<Entry> entries_;
  std::atomic<bool> is_aborted_ = false;
  std::atomic<bool> is_lost_ = false;  ///< the daemon has ended the connection

  mutable std::mutex mutex_;  ///< guards the members below, and is held while the ring is written
  std::condition_variable freed_;
  std::vector<Entry*> free_;  ///< the last one's memory is warm
  std::size_t num_in_flight_ = 0;
  bool is_closed_ = false;
};

}  // namespace sluice::rpc::client
