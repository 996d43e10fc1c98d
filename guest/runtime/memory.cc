// Allocation. Pinned host memory is plain memory here: copies take or fill its bytes before they
// return.
#include "guest/runtime/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "guest/runtime/abi.h"
#include "guest/runtime/connection.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

/// Ranges by their start. Safe across threads.
class Ranges {
 public:
  void add(std::uint64_t start, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    ranges_[start] = bytes;
  }
  bool remove(std::uint64_t start) {
    const std::lock_guard lock(mutex_);
    return ranges_.erase(start) > 0;
  }
  bool contains(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    auto after = ranges_.upper_bound(address);
    return after != ranges_.begin() && address - (--after)->first < after->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

Ranges& device_ranges() {
  static auto* const kRanges = new Ranges;
  return *kRanges;
}

/// Memory of other guests.
Ranges& opened_ranges() {
  static auto* const kRanges = new Ranges;
  return *kRanges;
}

Ranges& host_ranges() {
  static auto* const kRanges = new Ranges;
  return *kRanges;
}

Error allocate(CallKind kind, void** address, const MemoryBody& body) {
  if (address == nullptr) return Error::kInvalidValue;
  *address = nullptr;
  if (body.bytes == 0) return Error::kSuccess;
  Connection::Words words = {};
  const Error error = Connection::get().ask(kind, to_body(body), {}, &words);
  if (error != Error::kSuccess) return error;
  *address = reinterpret_cast<void*>(words[0]);  // NOLINT
  device_ranges().add(words[0], body.bytes);
  return Error::kSuccess;
}

Error allocate_rows(void** address, std::size_t* pitch, std::size_t width, std::size_t height) {
  constexpr std::size_t kUnit = 512;
  if (pitch == nullptr || width > SIZE_MAX - kUnit) return Error::kInvalidValue;
  *pitch = (width + kUnit - 1) / kUnit * kUnit;
  if (height > 0 && *pitch > SIZE_MAX / height) return Error::kMemoryAllocation;
  return allocate(CallKind::kAllocate, address, {.bytes = *pitch * height});
}

Error free_device(void* address) {
  if (address == nullptr) return Error::kSuccess;
  if (!device_ranges().remove(number_of(address))) return Error::kInvalidValue;
  return Connection::get().ask(CallKind::kFree, to_body(MemoryBody{.target = number_of(address)}));
}

Error free_in_order(void* address, std::uint64_t stream) {
  if (address == nullptr || !device_ranges().remove(number_of(address)))
    return Error::kInvalidValue;
  const MemoryBody body = {.target = number_of(address), .stream = stream};
  return Connection::get().post(CallKind::kFreeInOrder, to_body(body));
}

Error allocate_host(void** address, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  if (address == nullptr || bytes == 0 || bytes > SIZE_MAX - kPage) return Error::kInvalidValue;
  *address = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*address == nullptr) return Error::kMemoryAllocation;
  host_ranges().add(number_of(*address), bytes);
  return Error::kSuccess;
}

/// Copies take the bytes of any host memory, so nothing is pinned.
Error register_host(const void* address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kPortable = 1;
  constexpr unsigned kReadOnly = 8;
  if (address == nullptr || bytes == 0) return Error::kInvalidValue;
  if ((flags & ~(kPortable | kReadOnly)) != 0) return Error::kNotSupported;
  if (host_ranges().contains(number_of(address))) return Error::kHostMemoryAlreadyRegistered;
  host_ranges().add(number_of(address), bytes);
  return Error::kSuccess;
}

Error unregister_host(const void* address) {
  return host_ranges().remove(number_of(address)) ? Error::kSuccess
                                                  : Error::kHostMemoryNotRegistered;
}

Error host_flags(unsigned* flags, const void* address) {
  if (flags == nullptr || !host_ranges().contains(number_of(address))) return Error::kInvalidValue;
  *flags = 0;
  return Error::kSuccess;
}

Error free_host(void* address) {
  if (address == nullptr) return Error::kSuccess;
  if (!host_ranges().remove(number_of(address))) return Error::kInvalidValue;
  std::free(address);
  return Error::kSuccess;
}

Error offer(IpcHandle* handle, const void* address) {
  if (handle == nullptr) return Error::kInvalidValue;
  const MemoryBody body = {.target = number_of(address)};
  std::vector<std::byte> key;
  const Error error =
      Connection::get().ask(CallKind::kMemoryOffer, to_body(body), {}, nullptr, &key);
  if (error != Error::kSuccess) return error;
  *handle = {};
  std::memcpy(handle->bytes, key.data(), std::min(key.size(), sizeof(handle->bytes)));
  return Error::kSuccess;
}

Error open(void** address, const IpcHandle& handle) {
  if (address == nullptr) return Error::kInvalidValue;
  const std::span key(handle.bytes, strnlen(handle.bytes, sizeof(handle.bytes)));
  Connection::Words words = {};
  const Error error = Connection::get().ask(CallKind::kMemoryOpen, {}, std::as_bytes(key), &words);
  if (error != Error::kSuccess) return error;
  *address = reinterpret_cast<void*>(words[0]);  // NOLINT
  opened_ranges().add(words[0], words[1]);
  return Error::kSuccess;
}

/// The range stays known: the program may have opened it twice, and the proxy knows better.
Error close(const void* address) {
  const MemoryBody body = {.target = number_of(address)};
  return Connection::get().ask(CallKind::kMemoryClose, to_body(body));
}

Error memory_info(std::size_t* free, std::size_t* total) {
  Connection::Words words = {};
  const Error error = Connection::get().ask(CallKind::kMemoryInfo, {}, {}, &words);
  if (free != nullptr) *free = words[0];
  if (total != nullptr) *total = words[1];
  return error;
}

Error describe_pointer(PointerAttributes* attributes, const void* address) {
  if (attributes == nullptr) return Error::kInvalidValue;
  *attributes = {.type = MemoryType::kUnregistered,
                 .device = -2,
                 .device_pointer = nullptr,
                 .host_pointer = const_cast<void*>(address),
                 .reserved = {}};  // NOLINT: as CUDA has it
  if (is_on_device(address)) {
    attributes->type = MemoryType::kDevice;
    attributes->device = 0;
    attributes->device_pointer = std::exchange(attributes->host_pointer, nullptr);
  } else if (host_ranges().contains(number_of(address))) {
    attributes->type = MemoryType::kHost;  // the device does not reach it
    attributes->device = 0;
  }
  return Error::kSuccess;
}

}  // namespace

Error allocate_in_order(void** address, std::size_t bytes, std::uint64_t stream) {
  return allocate(CallKind::kAllocateInOrder, address, {.bytes = bytes, .stream = stream});
}

bool is_on_device(const void* address) {
  return device_ranges().contains(number_of(address)) ||
         opened_ranges().contains(number_of(address));
}

}  // namespace sluice::guest

using sluice::guest::CallKind;
using sluice::guest::Error;
using sluice::guest::IpcHandle;
using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaMalloc(void** address, std::size_t bytes) {
  return note(sluice::guest::allocate(CallKind::kAllocate, address, {.bytes = bytes}));
}
SLUICE_GUEST_EXPORT int cudaFree(void* address) {
  return note(sluice::guest::free_device(address));
}
SLUICE_GUEST_EXPORT int cudaMallocAsync(void** address, std::size_t bytes, void* stream) {
  return note(sluice::guest::allocate_in_order(address, bytes, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaMallocAsync_ptsz(void** address, std::size_t bytes, void* stream) {
  return note(sluice::guest::allocate_in_order(address, bytes, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaFreeAsync(void* address, void* stream) {
  return note(sluice::guest::free_in_order(address, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaFreeAsync_ptsz(void* address, void* stream) {
  return note(sluice::guest::free_in_order(address, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaMallocHost(void** address, std::size_t bytes) {
  return note(sluice::guest::allocate_host(address, bytes));
}
SLUICE_GUEST_EXPORT int cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kMapped = 2;
  return note((flags & kMapped) != 0 ? Error::kNotSupported
                                     : sluice::guest::allocate_host(address, bytes));
}
SLUICE_GUEST_EXPORT int cudaMallocPitch(void** address, std::size_t* pitch, std::size_t width,
                                        std::size_t height) {
  return note(sluice::guest::allocate_rows(address, pitch, width, height));
}
SLUICE_GUEST_EXPORT int cudaHostRegister(void* address, std::size_t bytes, unsigned flags) {
  return note(sluice::guest::register_host(address, bytes, flags));
}
SLUICE_GUEST_EXPORT int cudaHostUnregister(void* address) {
  return note(sluice::guest::unregister_host(address));
}
SLUICE_GUEST_EXPORT int cudaHostGetFlags(unsigned* flags, void* address) {
  return note(sluice::guest::host_flags(flags, address));
}
SLUICE_GUEST_EXPORT int cudaHostGetDevicePointer(void** /*device*/, void* /*host*/,
                                                 unsigned /*flags*/) {
  return note(Error::kNotSupported);
}
SLUICE_GUEST_EXPORT int cudaFreeHost(void* address) {
  return note(sluice::guest::free_host(address));
}
SLUICE_GUEST_EXPORT int cudaMallocManaged(void** /*address*/, std::size_t /*bytes*/,
                                          unsigned /*flags*/) {
  return note(Error::kNotSupported);
}
SLUICE_GUEST_EXPORT int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return note(sluice::guest::memory_info(free, total));
}
SLUICE_GUEST_EXPORT int cudaPointerGetAttributes(sluice::guest::PointerAttributes* attributes,
                                                 const void* address) {
  return note(sluice::guest::describe_pointer(attributes, address));
}
SLUICE_GUEST_EXPORT int cudaIpcGetMemHandle(IpcHandle* handle, void* address) {
  return note(sluice::guest::offer(handle, address));
}
SLUICE_GUEST_EXPORT int cudaIpcOpenMemHandle(void** address, IpcHandle handle, unsigned /*flags*/) {
  return note(sluice::guest::open(address, handle));
}
SLUICE_GUEST_EXPORT int cudaIpcCloseMemHandle(void* address) {
  return note(sluice::guest::close(address));
}
SLUICE_GUEST_EXPORT int cudaIpcGetEventHandle(IpcHandle* /*handle*/, void* /*event*/) {
  return note(Error::kNotSupported);
}
SLUICE_GUEST_EXPORT int cudaIpcOpenEventHandle(void** /*event*/, IpcHandle /*handle*/) {
  return note(Error::kNotSupported);
}
