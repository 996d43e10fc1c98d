// The device as all guests of a proxy share it: one context, one memory pool, streams, modules.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "base/result.h"
#include "device/module_cache.h"
#include "driver/driver_table.h"
#include "guest/proxy/copy_turns.h"
#include "guest/proxy/core_grants.h"
#include "guest/proxy/guest_list.h"
#include "guest/proxy/memory_offers.h"

namespace sluice::guest {

/// Bytes of device code in host memory.
struct DeviceCode {
  ByteCharge charge;  ///< ends after the bytes
  std::string bytes;
};

/// Device code that is loaded; unloaded with its last user. Safe across threads.
class Module {
 public:
  /// Fails: as the driver. On success takes `code`; a shared module keeps the bytes, to be
  /// compared.
  static cuda::CuResult load(const cuda::DriverTable& driver, DeviceCode& code, bool is_shared,
                             std::shared_ptr<const Module>* module);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  cuda::CuLibrary library() const { return library_; }
  /// Whether other guests may have it too.
  bool is_shared() const { return is_shared_; }
  const std::string& code() const { return code_.bytes; }

  /// The dynamic shared memory that launches of `function` may have before any guest asks for more.
  int usual_shared_bytes(cuda::CuFunction function) const;
  /// Lets launches of `function` have that much. Never lowers what the driver allows, because other
  /// guests launch the function too. Fails: as the driver.
  cuda::CuResult allow_shared_bytes(cuda::CuFunction function, int bytes) const;

 private:
  struct SharedBytes {
    int usual;
    int most;  ///< that the driver allows by now
  };

  Module(const cuda::DriverTable& driver, bool is_shared)
      : driver_(driver), is_shared_(is_shared) {}
  SharedBytes& shared_bytes_locked(cuda::CuFunction function) const;

  const cuda::DriverTable& driver_;
  const bool is_shared_;
  DeviceCode code_;
  cuda::CuLibrary library_ = nullptr;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::map<cuda::CuFunction, SharedBytes> shared_bytes_;
};

struct SharedDeviceOptions {
  std::int64_t code_bytes = std::int64_t{4} << 30;  ///< of the host, for all guests' device code
  device::TransferOptions copies = {};              ///< as CopyTurns takes them
};

/// Device 0. Safe across threads, each of which calls `join` first.
///
/// A fault of a kernel ends the context for all its guests, and no call of the driver leads out of
/// it: the device is lost until another process opens it.
class SharedDevice {
 public:
  /// Takes the primary context. `owner` keeps what fills the table.
  /// Requires: check(options.copies) is ok.
  /// Fails: kUnavailable where there is no device, or its context cannot be made.
  static Result<std::unique_ptr<SharedDevice>> create(const cuda::DriverTable& driver,
                                                      std::shared_ptr<void> owner,
                                                      const SharedDeviceOptions& options = {});
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;
  ~SharedDevice();

  const cuda::DriverTable& driver() const { return driver_; }
  cuda::CuDevice ordinal() const { return 0; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  /// Makes the context that of the calling thread, which will serve a guest. Fails: as the driver.
  cuda::CuResult join();
  /// Remembers a result of this thread's last call that means that the device is lost, and says why
  /// on stderr.
  void notice(cuda::CuResult result);
  /// Every call of a guest fails from now on.
  bool is_lost() const { return is_lost_; }

  cuda::CuMemoryPool pool() const { return pool_; }
  /// Between the host and the device.
  CopyTurns& copies() { return copies_; }

  /// An idle stream, or a new one. All are non-blocking for the driver: nobody uses its default
  /// stream.
  cuda::CuResult take_stream(int priority, cuda::CuStream* stream);
  /// Requires: the stream has no work and is not captured.
  void give_stream(int priority, cuda::CuStream stream);

  MemoryOffers& offers() { return offers_; }
  CoreGrants& cores() { return cores_; }
  GuestList& guests() { return guests_; }
  /// Gives memory of the pool back, and waits for that.
  /// Requires: no work uses it.
  void free(std::uint64_t address);

  const std::shared_ptr<ByteBudget>& code_budget() const { return code_budget_; }
  /// The module of these bytes. Guests share code that has no variables.
  cuda::CuResult load(DeviceCode code, bool has_variables, std::shared_ptr<const Module>* module);

 private:
  SharedDevice(const cuda::DriverTable& driver, std::shared_ptr<void> owner,
               const SharedDeviceOptions& options)
      : owner_(std::move(owner)),
        driver_(driver),
        code_budget_(std::make_shared<ByteBudget>(options.code_bytes)),
        copies_(options.copies),
        offers_(*this),
        cores_(driver_, ordinal()) {}
  cuda::CuResult open();

  const std::shared_ptr<void> owner_;
  const cuda::DriverTable driver_;
  const std::shared_ptr<ByteBudget> code_budget_;
  std::uint64_t memory_bytes_ = 0;
  device::ModuleCache<Module> modules_;
  CopyTurns copies_;
  MemoryOffers offers_;
  CoreGrants cores_;
  GuestList guests_;

  cuda::CuContext context_ = nullptr;
  cuda::CuMemoryPool pool_ = nullptr;
  std::atomic<bool> is_lost_ = false;

  std::mutex mutex_;                                 // guards what follows
  std::multimap<int, cuda::CuStream> idle_streams_;  ///< by priority
};

}  // namespace sluice::guest
