// Inference over a ring in shared memory, for many threads of a client.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "rpc/client/client.h"
#include "rpc/client/ring_entry.h"
#include "rpc/client/shared_tensors.h"
#include "rpc/client/side_client.h"
#include "shm/ring_client.h"

namespace sluice::rpc::client {

/// A ring of a session, and for each entry memory for tensors that are not shared themselves. Safe
/// from any thread. One of the threads that wait looks for completions, its own and the others'.
class RingCaller : public std::enable_shared_from_this<RingCaller> {
 public:
  /// `takes_spans`: the daemon does, from minor version 12 on.
  /// Fails: as shm::SharedMemory::create and hand_over.
  static Result<std::shared_ptr<RingCaller>> create(const std::string& side_socket,
                                                    const std::string& token, bool takes_spans);
  RingCaller(shm::SharedMemory memory, Handed handed, bool takes_spans);
  RingCaller(const RingCaller&) = delete;
  RingCaller& operator=(const RingCaller&) = delete;
  ~RingCaller() = default;

  /// Blocks. Returns nullopt if the ring cannot carry this request (too large for an entry or its
  /// memory, no free entry, unknown output shapes, ring closed); the caller then uses gRPC.
  std::optional<Result<InferReply>> infer(const terms::ModelEntry& model,
                                          const std::vector<terms::NamedTensor>& inputs,
                                          const InferOptions& options, const SharedTable& shared);

  /// Whether the ring is of no use any more.
  bool is_closed() const { return is_dead_.load() || ring_.is_closed(); }

 private:
  struct Entry : RingEntry {
    shm::Completion completion;
    bool is_done = false;
    bool is_abandoned = false;  ///< nobody waits; it is free when it is answered
  };
  using Inputs = std::vector<terms::NamedTensor>;

  Entry* take_entry();
  void give_back(Entry* entry);
  Status wait(Entry& entry, std::int64_t timeout_ns);
  void look(std::unique_lock<std::mutex>& lock);
  bool is_daemon_there() const;
  Result<InferReply> reply_of(Entry* entry, const terms::ModelEntry& model,
                              const InferOptions& options);

  const shm::SharedMemory memory_;
  const Handed handed_;
  shm::RingClient ring_;
  std::vector<Entry> entries_;
  std::atomic<bool> is_dead_ = false;  ///< the daemon is gone without a word

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Entry*> free_;  ///< the last one's memory is warm
  bool is_looking_ = false;   ///< a thread is, for all
  shm::Completion taken_;
};

}  // namespace sluice::rpc::client
