// Types of the CUDA runtime's C interface, as far as this library offers it.
//
// Written from NVIDIA's public documentation of the runtime API of CUDA 13, so that neither
// building nor running needs the vendor's files. Sizes and places are the interface: abi_test.cc
// compares them with the vendor's header where a toolkit is installed. Handles are numbers of the
// proxy in the shape of pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::guest {

inline constexpr int kRuntimeVersion = 13000;

enum class CopyKind : int {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kDefault = 4
};

using HostFunction = void (*)(void* data);
using HostCallback = void (*)(void* stream, int error, void* data);

struct Dim3 {
  unsigned x, y, z;
};

/// cudaDeviceProp. Fields that no program of ours reads are zero; runs of them have one name.
struct DeviceProperties {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_node_mask;
  std::size_t total_global_bytes;
  std::size_t shared_bytes_per_block;
  int registers_per_block;
  int warp_size;
  std::size_t memory_pitch;
  int max_threads_per_block;
  int max_block[3];
  int max_grid[3];
  std::size_t total_constant_bytes;
  int major;
  int minor;
  std::size_t texture_alignment;
  std::size_t texture_pitch_alignment;
  int multiprocessor_count;
  int is_integrated;
  int can_map_host_memory;
  int textures_and_surfaces[39];
  std::size_t surface_alignment;
  int concurrent_kernels;
  int has_ecc;
  int pci_bus;
  int pci_device;
  int pci_domain;
  int tcc_driver;
  int async_engine_count;
  int unified_addressing;
  int memory_bus_width;
  int l2_cache_bytes;
  int persisting_l2_cache_max_bytes;
  int max_threads_per_multiprocessor;
  int stream_priorities;
  int global_l1_cache;
  int local_l1_cache;
  std::size_t shared_bytes_per_multiprocessor;
  int registers_per_multiprocessor;
  int managed_memory;
  int board[2];
  int host_features[5];
  int cooperative_launch;
  std::size_t shared_bytes_per_block_optin;
  int page_tables[2];
  int max_blocks_per_multiprocessor;
  int access_policy_max_window_bytes;
  std::size_t reserved_shared_bytes_per_block;
  int host_register[4];
  int memory_pools_supported;
  int rest[15];
  int reserved[56];
};

struct FunctionAttributes {
  std::size_t shared_bytes;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int max_threads_per_block;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int max_dynamic_shared_bytes;
  int carveout;
  int clusters[6];
  int reserved[16];
};

enum class MemoryType : int { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3 };

struct PointerAttributes {
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];
};

/// cudaIpcMemHandle_t, which programs pass by value: here, the proxy's key.
struct IpcHandle {
  char bytes[64];
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t dynamic_shared_bytes;
  void* stream;
  void* attributes;
  unsigned num_attributes;
};

/// What nvcc puts into a program for each fat binary.
struct FatbinWrapper {
  int magic;
  int version;
  const void* data;
  const void* prelinked;  ///< of version 2: a list of fat binaries that ends with null
};
inline constexpr int kWrapperMagic = 0x466243b1;

}  // namespace sluice::guest
