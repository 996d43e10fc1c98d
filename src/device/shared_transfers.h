// Copies between host and one device for all threads that want some.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "device/transfer_service.h"

namespace sluice::device {

/// Bytes from one place to another, both borrowed until the batch is done.
struct Copy {
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t size_bytes = 0;
};

/// The transfer service of a device behind a lock. It has no thread: whoever polls or waits for a
/// batch of its own drives everybody's. Safe across threads.
class SharedTransfers {
 public:
  /// On streams of a group without cores, so that no model's cores are held.
  /// Fails: as TransferService::create, as the plug-in says of such a group.
  static Result<std::shared_ptr<SharedTransfers>> create(
      const std::shared_ptr<const backend::Backend>& backend, int device, const Clock& clock,
      const TransferOptions& options = {});
  SharedTransfers(const SharedTransfers&) = delete;
  SharedTransfers& operator=(const SharedTransfers&) = delete;

  /// Whoever's copies take turns with others' copies. Cancels what it has when it goes, and then
  /// waits for the block being copied. Shared by the batches of one model.
  class Client {
   public:
    Client(std::shared_ptr<SharedTransfers> owner, ClientId id)
        : owner_(std::move(owner)), id_(id) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

   private:
    friend class SharedTransfers;
    std::shared_ptr<SharedTransfers> owner_;
    ClientId id_;
  };
  static std::shared_ptr<Client> add_client(const std::shared_ptr<SharedTransfers>& transfers,
                                            const std::string& name, int weight = 1);

  /// Copies that are started and waited for together. Used by one thread at a time. Its destruction
  /// cancels what has not started and waits for the block being copied: then nothing uses the
  /// memory.
  class Batch {
   public:
    explicit Batch(std::shared_ptr<Client> client) : client_(std::move(client)) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch();

    /// Requires: nothing of it is under way. Fails: as TransferService::submit.
    Status start(Direction direction, std::span<const Copy> copies);
    /// Whether all of them are done, without waiting. Fails: the first error, once all have ended.
    Result<bool> poll();
    /// Until all of them are done; once `stop` is requested, until the block being copied is.
    /// Fails: as `poll`; kCancelled.
    Status wait(const std::stop_token& stop = {});
    /// What has not started never will; a block that is being copied goes on. Does not wait.
    void cancel();

   private:
    struct State {
      std::size_t num_pending = 0;
      Status first_error;
    };
    Result<bool> result() const;
    void cancel_locked();

    std::shared_ptr<Client> client_;
    State state_;
    std::vector<TransferId> ids_;
  };

 private:
  explicit SharedTransfers(std::unique_ptr<TransferService> service)
      : service_(std::move(service)) {}

  std::mutex mutex_;  ///< held while the service is called; callbacks run under it
  std::unique_ptr<TransferService> service_;
};

}  // namespace sluice::device
