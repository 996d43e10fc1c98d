// Types of the CUDA driver's C interface, as far as the driver table uses them.
//
// Written from NVIDIA's public documentation of the driver API, so that neither building nor
// running needs the vendor's files. Sizes and numbers are the interface: toolkit_abi_test.cc
// compares them with cuda.h where a toolkit is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::cuda {

// ---- handles ------------------------------------------------------------------------------------

using CuDevice = int;                   // ordinal
using CuDevicePointer = std::uint64_t;  // an address of the device's memory
using CuContext = struct CuContextObject*;
using CuStream = struct CuStreamObject*;  // null: the legacy default stream
using CuEvent = struct CuEventObject*;
using CuMemoryPool = struct CuMemoryPoolObject*;
using CuLibrary = struct CuLibraryObject*;
using CuKernel = struct CuKernelObject*;
using CuFunction = struct CuFunctionObject*;
using CuGraph = struct CuGraphObject*;
using CuGraphExec = struct CuGraphExecObject*;
using CuGreenContext = struct CuGreenContextObject*;
using CuResourceDescriptor = struct CuResourceDescriptorObject*;
using CuHostFunction = void (*)(void* user_data);

struct CuUuid {
  unsigned char bytes[16];
};

// ---- device attributes --------------------------------------------------------------------------

// row(enumerator, suffix of CU_DEVICE_ATTRIBUTE_, number)
#define SLUICE_CUDA_DEVICE_ATTRIBUTES(row)                                                         \
  row(kMaxThreadsPerBlock, MAX_THREADS_PER_BLOCK, 1) row(kMaxBlockDimX, MAX_BLOCK_DIM_X, 2) row(   \
      kMaxBlockDimY, MAX_BLOCK_DIM_Y, 3) row(kMaxBlockDimZ, MAX_BLOCK_DIM_Z,                       \
                                             4) row(kMaxGridDimX, MAX_GRID_DIM_X, 5)               \
      row(kMaxGridDimY, MAX_GRID_DIM_Y, 6) row(kMaxGridDimZ, MAX_GRID_DIM_Z, 7) row(               \
          kMaxSharedMemoryPerBlock, MAX_SHARED_MEMORY_PER_BLOCK,                                   \
          8) row(kWarpSize, WARP_SIZE, 10) row(kMaxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK, 12) \
          row(kMultiprocessorCount, MULTIPROCESSOR_COUNT, 16) row(                                 \
              kConcurrentKernels, CONCURRENT_KERNELS,                                              \
              31) row(kPciBus, PCI_BUS_ID, 33) row(kPciDevice, PCI_DEVICE_ID, 34)                  \
              row(kMaxThreadsPerMultiprocessor, MAX_THREADS_PER_MULTIPROCESSOR, 39) row(           \
                  kAsyncEngineCount, ASYNC_ENGINE_COUNT,                                           \
                  40) row(kUnifiedAddressing, UNIFIED_ADDRESSING,                                  \
                          41) row(kPciDomain, PCI_DOMAIN_ID, 50) row(kComputeCapabilityMajor,      \
                                                                     COMPUTE_CAPABILITY_MAJOR, 75) \
                  row(kComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR, 76) row(                  \
                      kMaxSharedMemoryPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81) \
                      row(kMaxSharedMemoryPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)    \
                          row(kMaxBlocksPerMultiprocessor, MAX_BLOCKS_PER_MULTIPROCESSOR, 106)     \
                              row(kMemoryPoolsSupported, MEMORY_POOLS_SUPPORTED, 115)

enum class CuDeviceAttribute : int {
#define SLUICE_CUDA_ROW(enumerator, suffix, number) enumerator = number,
  SLUICE_CUDA_DEVICE_ATTRIBUTES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
};

enum class CuPointerAttribute : int {
  kMemoryType = 2,     // CuMemoryType
  kDeviceOrdinal = 9,  // int
  kRangeStart = 11,    // CuDevicePointer, of the allocation
  kRangeSize = 12,     // std::size_t
};

enum class CuMemoryType : unsigned { kHost = 1, kDevice = 2 };

enum class CuFunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kStaticSharedBytes = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicSharedBytes = 8,
};

// ---- flags --------------------------------------------------------------------------------------

inline constexpr unsigned kStreamNonBlocking = 1;  // does not wait for the default stream
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kGreenContextDefaultStream = 1;  // required by cuGreenCtxCreate
inline constexpr unsigned kSplitIgnoreCoscheduling = 1;

enum class CuCaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CuCaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

// ---- memory pools -------------------------------------------------------------------------------

enum class CuMemoryPoolAttribute : int {
  kReuseFollowEventDependencies = 1,    // int
  kReuseAllowOpportunistic = 2,         // int
  kReuseAllowInternalDependencies = 3,  // int
  kReleaseThreshold = 4,                // uint64: bytes kept at a synchronisation
  kReservedCurrent = 5,                 // uint64
  kReservedHigh = 6,                    // uint64
  kUsedCurrent = 7,                     // uint64
  kUsedHigh = 8,                        // uint64
};

enum class CuLocationType : int { kInvalid = 0, kDevice = 1 };
enum class CuAllocationType : int { kInvalid = 0, kPinned = 1 };
enum class CuAccess : int { kNone = 0, kRead = 1, kReadWrite = 3 };

struct CuLocation {
  CuLocationType type;
  int id;  // of a device
};

struct CuMemoryPoolProperties {
  CuAllocationType allocation_type;
  int handle_types;  // 0: allocations are not exported
  CuLocation location;
  void* security_attributes;  // null but on Windows
  std::size_t max_bytes;      // 0: the driver's choice
  unsigned short usage;
  unsigned char reserved[54];
};

struct CuMemoryAccess {
  CuLocation location;
  CuAccess access;
};

// ---- multiprocessors as resources ---------------------------------------------------------------

enum class CuResourceType : int { kInvalid = 0, kMultiprocessors = 1 };

/// Written by the driver only.
struct CuMultiprocessors {
  unsigned count;
  unsigned min_partition;          // the fewest that a partition may have
  unsigned coscheduled_alignment;  // counts are multiples of this
};

struct CuResource {
  CuResourceType type;
  unsigned char driver_data[92];
  union {
    CuMultiprocessors multiprocessors;
    unsigned char space[48];
  };
};

}  // namespace sluice::cuda
