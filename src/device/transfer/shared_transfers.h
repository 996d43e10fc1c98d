// Copies between host and one device, shared by all threads.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "device/transfer/transfer_service.h"

namespace sluice::device {

/// Bytes from one place to another, both borrowed until the batch is done.
struct Copy {
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t size_bytes = 0;
};

/// The transfer service of a device behind a lock. It has no thread of its own: a thread that polls
/// or waits for its batch drives the transfers of all clients. Safe across threads.
class SharedTransfers {
 public:
  /// On streams of a group without cores, so that no model's cores are held.
  /// Fails: as TransferService::create, as the plug-in says of such a group.
  static Result<std::shared_ptr<SharedTransfers>> create(
      const std::shared_ptr<const backend::Backend>& backend, int device, const Clock& clock,
      const TransferOptions& options = {}, std::shared_ptr<StreamLedger> ledger = nullptr);
  SharedTransfers(const SharedTransfers&) = delete;
  SharedTransfers& operator=(const SharedTransfers&) = delete;

  /// A client: its copies take turns with those of others. The destructor cancels its transfers and
  /// waits for the blocks in flight. Shared by the batches of one model.
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

  /// Copies that are started and awaited together. Used by one thread at a time. The destructor
  /// cancels copies that have not started and waits for the blocks in flight, so that no copy
  /// uses the memory afterwards.
  class Batch {
   public:
    explicit Batch(std::shared_ptr<Client> client) : client_(std::move(client)) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch();

    /// Requires: nothing of it is under way.
    /// Fails: as TransferService::submit.
    Status start(Direction direction, std::span<const Copy> copies, const Urgency& urgency = {});
    /// Whether all copies are done, without waiting.
    /// Fails: the first error, once all have ended.
    Result<bool> poll();
    /// Waits until all copies are done; once `stop` is requested, only until the blocks in flight
    /// are.
    /// Fails: as `poll`; kCancelled.
    Status wait(const std::stop_token& stop = {});
    /// Cancels copies that have not started; blocks in flight continue. Does not wait.
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
