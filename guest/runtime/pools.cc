// Pools of memory in the order of streams. The proxy has one for all guests, which gives memory
// back at the next wait; a guest's pools are names for it, and keep what a program sets.
#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "driver/types.h"
#include "guest/runtime/connection.h"
#include "guest/runtime/memory.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

using Attribute = cuda::CuMemoryPoolAttribute;  // the runtime's numbers are the same

struct Pool {
  std::array<int, 4> reuses = {0, 1, 1, 1};  ///< by attribute, from 1
  std::uint64_t release_threshold = 0;
};

/// Safe across threads.
class Pools {
 public:
  static Pools& get() {
    static auto* const kPools = new Pools;
    return *kPools;
  }
  void* standard() { return &standard_; }
  void* add() {
    const std::lock_guard lock(mutex_);
    auto made = std::make_unique<Pool>();
    Pool* const handle = made.get();
    made_.emplace(handle, std::move(made));
    return handle;
  }
  bool remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    return made_.erase(handle) > 0;
  }
  /// Calls `use` with the pool; false if there is none.
  template <typename Use>
  bool with(const void* handle, const Use& use) {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(handle);
    if (handle != &standard_ && found == made_.end()) return false;
    use(handle == &standard_ ? standard_ : *found->second);
    return true;
  }
  bool has(const void* handle) {
    return with(handle, [](Pool&) {});
  }

 private:
  std::mutex mutex_;
  Pool standard_;
  std::map<const void*, std::unique_ptr<Pool>> made_;
};

Error give_pool(void** pool, int device) {
  if (pool == nullptr) return Error::kInvalidValue;
  if (device != 0) return Error::kInvalidDevice;
  *pool = Pools::get().standard();
  return Error::kSuccess;
}

Error create_pool(void** pool, const cuda::CuMemoryPoolProperties* properties) {
  if (pool == nullptr || properties == nullptr) return Error::kInvalidValue;
  if (properties->location.id != 0) return Error::kInvalidDevice;
  if (properties->handle_types != 0 || properties->max_bytes != 0) return Error::kNotSupported;
  *pool = Pools::get().add();
  return Error::kSuccess;
}

Error destroy_pool(const void* pool) {
  return Pools::get().remove(pool) ? Error::kSuccess : Error::kInvalidValue;
}

Error used_bytes(std::uint64_t* bytes) {
  Connection::Words words = {};
  const Error error = Connection::get().ask(CallKind::kMemoryInfo, {}, {}, &words);
  if (error == Error::kSuccess) *bytes = words[1] - words[0];
  return error;
}

bool is_reuse(Attribute attribute) {
  return attribute >= Attribute::kReuseFollowEventDependencies &&
         attribute <= Attribute::kReuseAllowInternalDependencies;
}

Error set_attribute(const void* pool, int number, const void* value) {
  const auto attribute = static_cast<Attribute>(number);
  if (value == nullptr) return Error::kInvalidValue;
  if (!is_reuse(attribute) && attribute != Attribute::kReleaseThreshold) {
    return Error::kNotSupported;  // high-water marks
  }
  const bool is_there = Pools::get().with(pool, [&](Pool& to) {
    if (is_reuse(attribute)) {
      to.reuses.at(static_cast<std::size_t>(number)) = *static_cast<const int*>(value);
    } else {
      to.release_threshold = *static_cast<const std::uint64_t*>(value);
    }
  });
  return is_there ? Error::kSuccess : Error::kInvalidValue;
}

Error get_attribute(const void* pool, int number, void* value) {
  const auto attribute = static_cast<Attribute>(number);
  if (value == nullptr || !Pools::get().has(pool)) return Error::kInvalidValue;
  auto* const bytes = static_cast<std::uint64_t*>(value);
  if (attribute == Attribute::kReservedCurrent || attribute == Attribute::kUsedCurrent) {
    return used_bytes(bytes);
  }
  if (!is_reuse(attribute) && attribute != Attribute::kReleaseThreshold) {
    return Error::kNotSupported;
  }
  Pools::get().with(pool, [&](const Pool& from) {
    if (is_reuse(attribute)) {
      *static_cast<int*>(value) = from.reuses.at(static_cast<std::size_t>(number));
    } else {
      *bytes = from.release_threshold;
    }
  });
  return Error::kSuccess;
}

Error if_pool(const void* pool) {
  return Pools::get().has(pool) ? Error::kSuccess : Error::kInvalidValue;
}

Error set_access(const void* pool, const cuda::CuMemoryAccess* accesses, std::size_t count) {
  if (accesses == nullptr && count > 0) return Error::kInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    if (accesses[i].location.id != 0) return Error::kInvalidDevice;
  }
  return if_pool(pool);
}

Error allocate_from(const void* pool, void** address, std::size_t bytes, std::uint64_t stream) {
  const Error error = if_pool(pool);
  return error == Error::kSuccess ? allocate_in_order(address, bytes, stream) : error;
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  return note(sluice::guest::give_pool(pool, device));
}
SLUICE_GUEST_EXPORT int cudaDeviceGetMemPool(void** pool, int device) {
  return note(sluice::guest::give_pool(pool, device));
}
/// cudaMallocAsync takes from the proxy's pool, whichever the program names.
SLUICE_GUEST_EXPORT int cudaDeviceSetMemPool(int device, void* pool) {
  return note(device == 0 ? sluice::guest::if_pool(pool) : sluice::guest::Error::kInvalidDevice);
}
SLUICE_GUEST_EXPORT int cudaMemPoolCreate(void** pool,
                                          const sluice::cuda::CuMemoryPoolProperties* properties) {
  return note(sluice::guest::create_pool(pool, properties));
}
SLUICE_GUEST_EXPORT int cudaMemPoolDestroy(void* pool) {
  return note(sluice::guest::destroy_pool(pool));
}
SLUICE_GUEST_EXPORT int cudaMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return note(sluice::guest::set_attribute(pool, attribute, value));
}
SLUICE_GUEST_EXPORT int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return note(sluice::guest::get_attribute(pool, attribute, value));
}
/// The proxy keeps nothing.
SLUICE_GUEST_EXPORT int cudaMemPoolTrimTo(void* pool, std::size_t /*min_bytes*/) {
  return note(sluice::guest::if_pool(pool));
}
SLUICE_GUEST_EXPORT int cudaMemPoolSetAccess(void* pool,
                                             const sluice::cuda::CuMemoryAccess* accesses,
                                             std::size_t count) {
  return note(sluice::guest::set_access(pool, accesses, count));
}
SLUICE_GUEST_EXPORT int cudaMallocFromPoolAsync(void** address, std::size_t bytes, void* pool,
                                                void* stream) {
  return note(sluice::guest::allocate_from(pool, address, bytes, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaMallocFromPoolAsync_ptsz(void** address, std::size_t bytes, void* pool,
                                                     void* stream) {
  return note(sluice::guest::allocate_from(pool, address, bytes, stream_number(stream, true)));
}
