// Compares the project's declarations of the driver's interface with those of a toolkit. Most of it
// happens while compiling.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <gtest/gtest.h>

#include "driver/driver_table.h"
#include "driver/testing/alike.h"

namespace sluice::cuda {
namespace {

#define SLUICE_CUDA_ROW(member, name, version, arguments) \
  static_assert(are_alike<decltype(DriverTable::member), PFN_##name##_v##version>());
SLUICE_CUDA_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
static_assert(are_alike<GetProcAddress, PFN_cuGetProcAddress_v12000>());

#define SLUICE_CUDA_ROW(enumerator, name, number, meaning) static_assert((name) == number);
SLUICE_CUDA_RESULTS(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW

#define SLUICE_CUDA_ROW(enumerator, suffix, number) \
  static_assert(CU_DEVICE_ATTRIBUTE_##suffix == number);
SLUICE_CUDA_DEVICE_ATTRIBUTES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW

static_assert(same_number(CuPointerAttribute::kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(same_number(CuPointerAttribute::kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(same_number(CuPointerAttribute::kRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
static_assert(same_number(CuPointerAttribute::kRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE));
static_assert(same_number(CuMemoryType::kHost, CU_MEMORYTYPE_HOST));
static_assert(same_number(CuMemoryType::kDevice, CU_MEMORYTYPE_DEVICE));
static_assert(same_number(CuFunctionAttribute::kMaxDynamicSharedBytes,
                          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(same_number(CuFunctionAttribute::kBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
static_assert(same_number(CuMemoryPoolAttribute::kReleaseThreshold,
                          CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
static_assert(same_number(CuMemoryPoolAttribute::kUsedHigh, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
static_assert(same_number(CuCaptureMode::kRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
static_assert(same_number(CuCaptureStatus::kInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(same_number(CuAccess::kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(same_number(kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(same_number(kEventDisableTiming, CU_EVENT_DISABLE_TIMING));
static_assert(same_number(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE));
static_assert(same_number(kGreenContextDefaultStream, CU_GREEN_CTX_DEFAULT_STREAM));
static_assert(same_number(kSplitIgnoreCoscheduling,
                          CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING));
static_assert(same_number(CuResourceType::kMultiprocessors, CU_DEV_RESOURCE_TYPE_SM));

static_assert(sizeof(CuMemoryPoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(CuMemoryPoolProperties, location) == offsetof(CUmemPoolProps, location));
static_assert(offsetof(CuMemoryPoolProperties, max_bytes) == offsetof(CUmemPoolProps, maxSize));
static_assert(sizeof(CuMemoryAccess) == sizeof(CUmemAccessDesc));
static_assert(sizeof(CuResource) == sizeof(CUdevResource));
static_assert(offsetof(CuResource, multiprocessors) == offsetof(CUdevResource, sm));
static_assert(offsetof(CuMultiprocessors, coscheduled_alignment) ==
              offsetof(CUdevSmResource, smCoscheduledAlignment));
static_assert(sizeof(CuUuid) == sizeof(CUuuid));

TEST(CudaToolkit, DeclarationsAreThoseOfTheInstalledHeader) {
  EXPECT_GE(CUDA_VERSION, kMinDriverVersion);
}

}  // namespace
}  // namespace sluice::cuda
