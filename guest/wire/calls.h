// What a guest asks of its proxy: one kind per call, and bodies of fixed size.
//
// Both sides are built together and compare kWireVersion. A guest names its objects by numbers that
// the proxy gives out, starting at 1 and never used twice; memory alone is named by the device's
// addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sluice::guest {

inline constexpr std::uint32_t kWireVersion = 4;
inline constexpr const char* kSocketVariable = "SLUICE_GUEST_SOCKET";
/// The number of multiprocessors that a guest asks its proxy for; without it, it uses all.
inline constexpr const char* kCoresVariable = "SLUICE_GUEST_CORES";

/// Maximum bytes behind one call or one reply. Longer copies are several calls, each of them full
/// but for the last: the blocks in which copies take turns.
inline constexpr std::uint32_t kMaxPayloadBytes = 256 * 1024;
/// Longest device code; it comes in pieces.
inline constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{512} << 20;
/// Maximum bytes of a kernel's parameters, as CUDA 12.1 and later allow.
inline constexpr std::uint32_t kMaxParameterBytes = 32764;
inline constexpr std::size_t kMaxParameters = 4096;
/// The longest key of memory that guests offer each other; CUDA's handles have room for as much.
inline constexpr std::size_t kMaxKeyBytes = 64;

/// Stream 0 is the guest's own default stream, which waits for its other blocking streams and they
/// for it.
inline constexpr std::uint64_t kDefaultStream = 0;
/// A stream's priority lies between this number, the most urgent, and 0.
inline constexpr int kGreatestPriority = -5;

enum class CallKind : std::uint32_t {
  kDeviceFacts,        // payload back: DeviceFacts
  kMemoryInfo,         // back: free and total bytes, within the quota
  kAllocate,           // MemoryBody.bytes; back: address
  kFree,               // MemoryBody.target; waits for the guest's work
  kAllocateInOrder,    // MemoryBody.bytes, stream; back: address
  kFreeInOrder,        // MemoryBody.target, stream
  kCopyIn,             // MemoryBody.target, stream, rest_bytes; payload: the bytes
  kCopyOut,            // MemoryBody.source, bytes, stream, rest_bytes; payload back: the bytes
  kCopyWithin,         // MemoryBody.target, source, bytes, stream
  kFill,               // MemoryBody.target, value, bytes, stream
  kDeviceWait,         // for all streams of the guest
  kStreamCreate,       // HandleBody.flags, value: priority; back: stream
  kStreamDestroy,      // HandleBody.handle
  kStreamWait,         // HandleBody.handle
  kStreamAsk,          // HandleBody.handle
  kStreamWaitEvent,    // HandleBody.handle, other: event
  kEventCreate,        // HandleBody.flags; back: event
  kEventDestroy,       // HandleBody.handle
  kEventRecord,        // HandleBody.handle, other: stream
  kEventWait,          // HandleBody.handle
  kEventAsk,           // HandleBody.handle
  kEventElapsed,       // HandleBody.handle, other; back: bits of a float, milliseconds
  kCodePiece,          // HandleBody.other: bytes of the whole code with its first piece, else 0;
                       // payload: the next bytes
  kCodeLoad,           // all pieces so far; HandleBody.flags: 1 if it has variables; other: their
                       // bytes; back: library
  kKernelFind,         // HandleBody.handle: library; payload: name; payload back: KernelFacts,
                       // ParameterPlace...
  kVariableFind,       // HandleBody.handle: library; payload: name; back: address, bytes
  kKernelSharedBytes,  // HandleBody.handle: kernel; value: most dynamic shared bytes
  kKernelOccupancy,    // HandleBody.handle: kernel; flags: block size; other: shared bytes; back:
                       // blocks
  kLaunch,             // LaunchBody; payload: parameters
  kCaptureBegin,       // HandleBody.handle: stream; flags: mode
  kCaptureEnd,         // HandleBody.handle: stream; back: graph
  kCaptureAsk,         // HandleBody.handle: stream; back: status
  kGraphInstantiate,   // HandleBody.handle: graph; flags; back: executable graph
  kGraphDestroy,       // HandleBody.handle
  kGraphLaunch,        // HandleBody.handle, other: stream
  kGraphExecDestroy,   // HandleBody.handle
  kMemoryOffer,        // MemoryBody.target; payload back: key
  kMemoryOpen,         // payload: key; back: address, bytes
  kMemoryClose,        // MemoryBody.target; waits for the guest's work
  kCoresTake,          // HandleBody.value: multiprocessors; before any other stream; back: their
                       // number
  kGuests,             // payload back: GuestLine...; of others, for the proxy's user alone
  kCount
};

struct MemoryBody {
  std::uint64_t target = 0;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::uint32_t value = 0;
  /// Bytes of the whole copy, from this call on; 0: the call is the whole copy.
  std::uint64_t rest_bytes = 0;
};

struct HandleBody {
  std::uint64_t handle = 0;
  std::uint64_t other = 0;
  std::uint32_t flags = 0;
  std::int32_t value = 0;
};

struct LaunchBody {
  std::uint64_t kernel = 0;
  std::uint64_t stream = 0;
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  std::uint32_t dynamic_shared_bytes = 0;
};

using Body = std::array<std::byte, 48>;

template <typename Typed>
Body to_body(const Typed& typed) {
  static_assert(std::is_trivially_copyable_v<Typed> && sizeof(Typed) <= sizeof(Body));
  Body body = {};
  std::memcpy(body.data(), &typed, sizeof(Typed));
  return body;
}

template <typename Typed>
Typed from_body(const Body& body) {
  static_assert(std::is_trivially_copyable_v<Typed> && sizeof(Typed) <= sizeof(Body));
  Typed typed;
  std::memcpy(&typed, body.data(), sizeof(Typed));
  return typed;
}

/// Attributes of the device by the driver's numbers; kUnknownAttribute where it has none.
inline constexpr std::size_t kNumAttributes = 160;
inline constexpr std::int32_t kUnknownAttribute = INT32_MIN;

struct DeviceFacts {
  std::array<char, 256> name = {};
  std::array<unsigned char, 16> uuid = {};
  std::uint64_t memory_bytes = 0;  ///< the quota, if that is less than the device has
  std::int32_t driver_version = 0;
  std::array<std::int32_t, kNumAttributes> attributes = {};
};

/// Another guest of the proxy.
struct GuestLine {
  std::int32_t process = 0;
  std::int32_t zero = 0;
  std::int64_t age_ns = 0;
  std::uint64_t memory_bytes = 0;  ///< of the device
  std::uint64_t num_calls = 0;
  std::uint64_t num_launches = 0;
  std::uint64_t to_device_bytes = 0;
  std::uint64_t from_device_bytes = 0;
};

/// Followed by `num_parameters` of ParameterPlace.
struct KernelFacts {
  std::uint64_t kernel = 0;
  std::int32_t max_threads = 0;
  std::int32_t static_shared_bytes = 0;
  std::int32_t max_dynamic_shared_bytes = 0;
  std::int32_t local_bytes = 0;
  std::int32_t registers = 0;
  std::int32_t ptx_version = 0;
  std::int32_t binary_version = 0;
  std::uint32_t num_parameters = 0;
};

struct ParameterPlace {
  std::uint32_t offset_bytes = 0;
  std::uint32_t size_bytes = 0;
};

}  // namespace sluice::guest
