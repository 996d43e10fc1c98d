// The device as all guests of a proxy share it: one context, one memory pool, streams, modules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/module_cache.h"
#include "driver/driver_table.h"

namespace sluice::guest {

/// Device code that is loaded; unloaded with its last user.
class Module {
 public:
  Module(const cuda::DriverTable& driver, cuda::CuLibrary library)
      : driver_(driver), library_(library) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { driver_.library_unload(library_); }
  cuda::CuLibrary library() const { return library_; }

 private:
  const cuda::DriverTable& driver_;
  const cuda::CuLibrary library_;
};

/// Device 0. Safe across threads, each of which calls `enter_thread` first.
///
/// A fault of a kernel ends the context for all its guests, as the driver has it: their calls fail
/// until the last of them has left, and then the context is made anew.
class SharedDevice {
 public:
  /// Takes the primary context. `owner` keeps what fills the table.
  /// Fails: kUnavailable where there is no device, or its context cannot be made.
  static Result<std::unique_ptr<SharedDevice>> create(const cuda::DriverTable& driver,
                                                      std::shared_ptr<void> owner);
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;
  ~SharedDevice();

  const cuda::DriverTable& driver() const { return driver_; }
  cuda::CuDevice ordinal() const { return 0; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }

  /// A guest comes, on the thread that will serve it.
  cuda::CuResult join();
  /// It has gone, and everything that it held.
  void leave();
  /// Remembers a result that means that the context is lost.
  void notice(cuda::CuResult result);

  cuda::CuMemoryPool pool() const { return pool_; }

  /// An idle stream, or a new one. All are non-blocking for the driver: nobody uses its default
  /// stream.
  cuda::CuResult take_stream(int priority, cuda::CuStream* stream);
  /// Requires: the stream has no work and is not captured.
  void give_stream(int priority, cuda::CuStream stream);

  /// The module of these bytes. Guests share code that has no variables.
  cuda::CuResult load(std::string code, bool has_variables, std::shared_ptr<const Module>* module);

 private:
  SharedDevice(const cuda::DriverTable& driver, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), driver_(driver) {}
  cuda::CuResult open();
  void close();

  const std::shared_ptr<void> owner_;
  const cuda::DriverTable driver_;
  std::uint64_t memory_bytes_ = 0;
  device::ModuleCache<Module> modules_;

  std::mutex mutex_;  // guards what follows
  cuda::CuContext context_ = nullptr;
  cuda::CuMemoryPool pool_ = nullptr;
  std::multimap<int, cuda::CuStream> idle_streams_;  ///< by priority
  std::uint64_t life_ = 0;                           ///< of the context; part of the modules' keys
  int num_guests_ = 0;
  bool is_lost_ = false;
};

/// Whether a result means that the context is lost.
bool ends_context(cuda::CuResult result);

}  // namespace sluice::guest
