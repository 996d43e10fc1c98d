// Services that all users of a device share: memory, copies and constants.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/constant_store.h"
#include "device/stream/stream_pool.h"

namespace sluice::device {

/// The services of one device with its own memory. Safe across threads.
struct DeviceServices {
  DeviceServices(const MemoryPool& pool, const std::shared_ptr<SharedTransfers>& shared,
                 std::shared_ptr<StreamLedger> ledger)
      : memory(pool),
        streams(std::move(ledger)),
        transfers(shared),
        constants(pool, SharedTransfers::add_client(shared, kConstantsClient)) {}

  MemoryPool memory;
  std::shared_ptr<StreamLedger> streams;  ///< of all pools of the device
  std::shared_ptr<SharedTransfers> transfers;
  ConstantStore constants;
};

/// What a client that has ended still has of a device.
struct LeftBehind {
  std::string client;
  std::int64_t memory_bytes = 0;
  std::int64_t num_streams = 0;
};

/// A copy of bytes of the host in the memory of a device.
struct BroughtBytes {
  std::shared_ptr<const void> copy;  ///< keeps it there; its address on the device
  /// Of the same backend: where the bytes came from, or this device if it had them. None: the host.
  std::optional<int> from;
};

/// What is entered while a device has what `bring` brought. The memory counts as constants.
inline constexpr const char* kExchangeClient = "exchange";

/// The services of all devices, created at their first use. Safe across threads.
class DeviceServiceTable {
 public:
  /// `clock` outlives the table and what it gave out.
  explicit DeviceServiceTable(const Clock& clock, const TransferOptions& options = {})
      : clock_(clock), options_(options) {}

  /// Null for a device that works on the host's memory (needs_transfers).
  /// Requires: `device` is one of the backend's.
  /// Fails: as SharedTransfers::create.
  Result<std::shared_ptr<DeviceServices>> of(const std::shared_ptr<const backend::Backend>& backend,
                                             int device);
  /// The services of a device, if they exist; null otherwise.
  std::shared_ptr<DeviceServices> find(const std::string& backend, int device) const;

  /// Copies bytes that nobody changes to a device of own memory. They come from a device that a
  /// link of the backend joins to it, if one has them, else from the host, which gets them by
  /// `fetch` first, if that is given. Blocks.
  /// Requires: as `of`. Fails: kFailedPrecondition for a device that works on the host's memory; as
  /// ConstantStore::bring and `fetch`.
  Result<BroughtBytes> bring(const Bytes& bytes,
                             const std::shared_ptr<const backend::Backend>& backend, int device,
                             const std::function<Status()>& fetch = {});

  /// From now on until the result goes, something of this name may have memory and streams of the
  /// devices. Several may have one name.
  std::shared_ptr<const void> enter(const std::string& name);
  /// Memory and streams of names that nobody entered, and constants while no name is entered. Any
  /// entry is a defect of this program or of a plug-in.
  std::vector<LeftBehind> left_on(const DeviceServices& device) const;

 private:
  struct Names {
    std::mutex mutex;
    std::map<std::string, int, std::less<>> count_of;

    std::set<std::string> now();
  };

  /// A device that a link joins to this one, and that has the bytes.
  std::optional<int> find_linked(const Bytes& bytes, const backend::Backend& backend,
                                 int device) const;

  using Key = std::pair<std::string, int>;  // backend's name, its device

  const Clock& clock_;
  const TransferOptions options_;
  const std::shared_ptr<Names> names_ = std::make_shared<Names>();
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<DeviceServices>> services_;
};

}  // namespace sluice::device
