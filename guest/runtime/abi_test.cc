// Compares the library's declarations with those of a toolkit, while compiling.
#include "guest/runtime/abi.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "guest/runtime/errors.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

#define SLUICE_GUEST_ROW(enumerator, name, number, meaning) static_assert((name) == number);
SLUICE_GUEST_ERRORS(SLUICE_GUEST_ROW)
#undef SLUICE_GUEST_ROW

#define SLUICE_GUEST_SAME(ours, our_field, theirs, their_field)              \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(ours::our_field) == sizeof(theirs::their_field))

static_assert(sizeof(DeviceProperties) == sizeof(cudaDeviceProp));
SLUICE_GUEST_SAME(DeviceProperties, uuid, cudaDeviceProp, uuid);
SLUICE_GUEST_SAME(DeviceProperties, total_global_bytes, cudaDeviceProp, totalGlobalMem);
SLUICE_GUEST_SAME(DeviceProperties, shared_bytes_per_block, cudaDeviceProp, sharedMemPerBlock);
SLUICE_GUEST_SAME(DeviceProperties, registers_per_block, cudaDeviceProp, regsPerBlock);
SLUICE_GUEST_SAME(DeviceProperties, warp_size, cudaDeviceProp, warpSize);
SLUICE_GUEST_SAME(DeviceProperties, memory_pitch, cudaDeviceProp, memPitch);
SLUICE_GUEST_SAME(DeviceProperties, max_threads_per_block, cudaDeviceProp, maxThreadsPerBlock);
SLUICE_GUEST_SAME(DeviceProperties, max_block, cudaDeviceProp, maxThreadsDim);
SLUICE_GUEST_SAME(DeviceProperties, max_grid, cudaDeviceProp, maxGridSize);
SLUICE_GUEST_SAME(DeviceProperties, total_constant_bytes, cudaDeviceProp, totalConstMem);
SLUICE_GUEST_SAME(DeviceProperties, major, cudaDeviceProp, major);
SLUICE_GUEST_SAME(DeviceProperties, minor, cudaDeviceProp, minor);
SLUICE_GUEST_SAME(DeviceProperties, texture_alignment, cudaDeviceProp, textureAlignment);
SLUICE_GUEST_SAME(DeviceProperties, texture_pitch_alignment, cudaDeviceProp, texturePitchAlignment);
SLUICE_GUEST_SAME(DeviceProperties, multiprocessor_count, cudaDeviceProp, multiProcessorCount);
SLUICE_GUEST_SAME(DeviceProperties, is_integrated, cudaDeviceProp, integrated);
SLUICE_GUEST_SAME(DeviceProperties, surface_alignment, cudaDeviceProp, surfaceAlignment);
SLUICE_GUEST_SAME(DeviceProperties, concurrent_kernels, cudaDeviceProp, concurrentKernels);
SLUICE_GUEST_SAME(DeviceProperties, has_ecc, cudaDeviceProp, ECCEnabled);
SLUICE_GUEST_SAME(DeviceProperties, pci_bus, cudaDeviceProp, pciBusID);
SLUICE_GUEST_SAME(DeviceProperties, pci_device, cudaDeviceProp, pciDeviceID);
SLUICE_GUEST_SAME(DeviceProperties, pci_domain, cudaDeviceProp, pciDomainID);
SLUICE_GUEST_SAME(DeviceProperties, async_engine_count, cudaDeviceProp, asyncEngineCount);
SLUICE_GUEST_SAME(DeviceProperties, unified_addressing, cudaDeviceProp, unifiedAddressing);
SLUICE_GUEST_SAME(DeviceProperties, memory_bus_width, cudaDeviceProp, memoryBusWidth);
SLUICE_GUEST_SAME(DeviceProperties, l2_cache_bytes, cudaDeviceProp, l2CacheSize);
SLUICE_GUEST_SAME(DeviceProperties, max_threads_per_multiprocessor, cudaDeviceProp,
                  maxThreadsPerMultiProcessor);
SLUICE_GUEST_SAME(DeviceProperties, shared_bytes_per_multiprocessor, cudaDeviceProp,
                  sharedMemPerMultiprocessor);
SLUICE_GUEST_SAME(DeviceProperties, registers_per_multiprocessor, cudaDeviceProp,
                  regsPerMultiprocessor);
SLUICE_GUEST_SAME(DeviceProperties, cooperative_launch, cudaDeviceProp, cooperativeLaunch);
SLUICE_GUEST_SAME(DeviceProperties, shared_bytes_per_block_optin, cudaDeviceProp,
                  sharedMemPerBlockOptin);
SLUICE_GUEST_SAME(DeviceProperties, max_blocks_per_multiprocessor, cudaDeviceProp,
                  maxBlocksPerMultiProcessor);
SLUICE_GUEST_SAME(DeviceProperties, reserved_shared_bytes_per_block, cudaDeviceProp,
                  reservedSharedMemPerBlock);
SLUICE_GUEST_SAME(DeviceProperties, memory_pools_supported, cudaDeviceProp, memoryPoolsSupported);
SLUICE_GUEST_SAME(DeviceProperties, reserved, cudaDeviceProp, reserved);

static_assert(sizeof(FunctionAttributes) == sizeof(cudaFuncAttributes));
SLUICE_GUEST_SAME(FunctionAttributes, shared_bytes, cudaFuncAttributes, sharedSizeBytes);
SLUICE_GUEST_SAME(FunctionAttributes, local_bytes, cudaFuncAttributes, localSizeBytes);
SLUICE_GUEST_SAME(FunctionAttributes, max_threads_per_block, cudaFuncAttributes,
                  maxThreadsPerBlock);
SLUICE_GUEST_SAME(FunctionAttributes, registers, cudaFuncAttributes, numRegs);
SLUICE_GUEST_SAME(FunctionAttributes, ptx_version, cudaFuncAttributes, ptxVersion);
SLUICE_GUEST_SAME(FunctionAttributes, max_dynamic_shared_bytes, cudaFuncAttributes,
                  maxDynamicSharedSizeBytes);

static_assert(sizeof(PointerAttributes) == sizeof(cudaPointerAttributes));
SLUICE_GUEST_SAME(PointerAttributes, type, cudaPointerAttributes, type);
SLUICE_GUEST_SAME(PointerAttributes, device, cudaPointerAttributes, device);
SLUICE_GUEST_SAME(PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
SLUICE_GUEST_SAME(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);

static_assert(sizeof(IpcHandle) == sizeof(cudaIpcMemHandle_t));

static_assert(sizeof(LaunchConfig) == sizeof(cudaLaunchConfig_t));
SLUICE_GUEST_SAME(LaunchConfig, dynamic_shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SLUICE_GUEST_SAME(LaunchConfig, stream, cudaLaunchConfig_t, stream);
SLUICE_GUEST_SAME(LaunchConfig, num_attributes, cudaLaunchConfig_t, numAttrs);

template <typename Ours, typename Theirs>
constexpr bool same_number(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}
static_assert(same_number(CopyKind::kHostToDevice, cudaMemcpyHostToDevice));
static_assert(same_number(CopyKind::kDefault, cudaMemcpyDefault));
static_assert(same_number(MemoryType::kDevice, cudaMemoryTypeDevice));

TEST(GuestAbi, StreamsWithoutAHandleAreThoseOfTheInstalledHeader) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cudaStreamLegacy), kLegacyStream);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(cudaStreamPerThread), kPerThreadStream);
  EXPECT_EQ(CUDART_VERSION / 1000, kRuntimeVersion / 1000) << "a toolkit of CUDA 13 is compared";
}

}  // namespace
}  // namespace sluice::guest
