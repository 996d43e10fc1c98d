// Result codes of the CUDA driver, and what they become for callers of a plug-in.
#pragma once

#include "sluice/backend.hpp"

namespace sluice::cuda {

using plugin::Status;

// row(enumerator, name in the driver's interface, number, meaning)
// clang-format off
#define SLUICE_CUDA_RESULTS(row)                                                                                                      \
  row(kSuccess, CUDA_SUCCESS, 0, "no error")                                                                                          \
  row(kInvalidValue, CUDA_ERROR_INVALID_VALUE, 1, "an argument is wrong")                                                             \
  row(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2, "the device has too little free memory")                                             \
  row(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED, 3, "cuInit was not called")                                                        \
  row(kNoDevice, CUDA_ERROR_NO_DEVICE, 100, "there is no GPU")                                                                        \
  row(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE, 101, "no device has this number")                                                    \
  row(kInvalidImage, CUDA_ERROR_INVALID_IMAGE, 200, "the device code is damaged")                                                     \
  row(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT, 201, "no context is current, or it is gone")                                       \
  row(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "the code is for another architecture")                                     \
  row(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE, 214, "the memory of the device has lost bits")                                 \
  row(kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, "the devices cannot reach each other")                         \
  row(kInvalidPtx, CUDA_ERROR_INVALID_PTX, 218, "the PTX text is wrong")                                                              \
  row(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "the PTX text is newer than the driver")                       \
  row(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE, 400, "a handle is wrong or was destroyed")                                           \
  row(kIllegalState, CUDA_ERROR_ILLEGAL_STATE, 401, "the object is in no state for the call")                                         \
  row(kNotFound, CUDA_ERROR_NOT_FOUND, 500, "nothing has this name")                                                                  \
  row(kNotReady, CUDA_ERROR_NOT_READY, 600, "the work is not done yet")                                                               \
  row(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS, 700, "a kernel or copy touched memory that is not its own")                        \
  row(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "a launch wants more threads or memory than a block may have")  \
  row(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT, 702, "a kernel ran for too long")                                                    \
  row(kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is on already")                            \
  row(kPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access is not on")                                        \
  row(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "the context was destroyed")                                         \
  row(kAssert, CUDA_ERROR_ASSERT, 710, "an assertion of a kernel does not hold")                                                      \
  row(kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "the memory is registered already")               \
  row(kHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "the memory is not registered")                           \
  row(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "a kernel broke its call stack")                                     \
  row(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "a kernel has an instruction that the device lacks")                  \
  row(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS, 716, "an address has the wrong alignment")                                   \
  row(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "an address is of a memory that the instruction does not reach")   \
  row(kInvalidPc, CUDA_ERROR_INVALID_PC, 718, "a kernel jumped to where no code is")                                                  \
  row(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED, 719, "a kernel failed")                                                                \
  row(kNotPermitted, CUDA_ERROR_NOT_PERMITTED, 800, "the call is not allowed here")                                                   \
  row(kNotSupported, CUDA_ERROR_NOT_SUPPORTED, 801, "the device or driver lacks this")                                                \
  row(kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "the call is not allowed while a stream is captured")          \
  row(kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "an earlier error ended the capture")                          \
  row(kCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "two captures would become one")                                           \
  row(kCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture did not begin in this stream")                        \
  row(kCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "a stream of the capture did not join the first one")                \
  row(kCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "a captured stream would wait for work outside of the capture")    \
  row(kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "the default stream would wait for a captured stream")               \
  row(kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT, 907, "the event was recorded in a capture")                                          \
  row(kCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "another thread began the capture")                           \
  row(kInvalidResourceType, CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "the resource is not of the type that the call takes")             \
  row(kInvalidResourceConfiguration, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "the multiprocessors cannot be split like this") \
  row(kUnknown, CUDA_ERROR_UNKNOWN, 999, "an unknown error")
// clang-format on

enum class CuResult : int {
#define SLUICE_CUDA_ROW(enumerator, name, number, meaning) enumerator = number,
  SLUICE_CUDA_RESULTS(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
};

/// `CUDA_ERROR_OUT_OF_MEMORY`; null for a number that is not in the table.
const char* result_name(CuResult result);
/// `the device has too little free memory`; null for a number that is not in the table.
const char* result_meaning(CuResult result);

/// Whether the result of a kernel, or of the device, means that its context is lost: every later
/// call in the context fails.
bool ends_context(CuResult result);

/// The code of a plug-in that fits: too little memory is RESOURCE_EXHAUSTED; a fault that ends a
/// context or a lost device is UNAVAILABLE; an unknown name or handle is NOT_FOUND.
sluice_code code_of(CuResult result);

/// `what`, then the result's meaning and name; ok for kSuccess.
Status check(CuResult result, std::string_view what);

}  // namespace sluice::cuda
