// Errors of the runtime API. Those of the driver have the same numbers.
#pragma once

namespace sluice::guest {

// row(enumerator, name in the runtime's interface, number, meaning)
// clang-format off
#define SLUICE_GUEST_ERRORS(row)                                                                             \
  row(kSuccess, cudaSuccess, 0, "no error")                                                                  \
  row(kInvalidValue, cudaErrorInvalidValue, 1, "an argument is wrong")                                       \
  row(kMemoryAllocation, cudaErrorMemoryAllocation, 2, "too little free memory")                             \
  row(kInitialization, cudaErrorInitializationError, 3, "a forked process cannot use its parent's device")   \
  row(kInvalidConfiguration, cudaErrorInvalidConfiguration, 9, "a launch has a wrong grid, block or shared memory") \
  row(kInvalidSymbol, cudaErrorInvalidSymbol, 13, "the program has no such device variable")                 \
  row(kInvalidMemcpyDirection, cudaErrorInvalidMemcpyDirection, 21, "a copy has no such direction")          \
  row(kDevicesUnavailable, cudaErrorDevicesUnavailable, 46, "the proxy of the device is gone")               \
  row(kMissingConfiguration, cudaErrorMissingConfiguration, 52, "a launch has no configuration")             \
  row(kInvalidDeviceFunction, cudaErrorInvalidDeviceFunction, 98, "the program has no such kernel")          \
  row(kNoDevice, cudaErrorNoDevice, 100, "there is no device")                                               \
  row(kInvalidDevice, cudaErrorInvalidDevice, 101, "no device has this number")                              \
  row(kInvalidKernelImage, cudaErrorInvalidKernelImage, 200, "the device code is damaged")                   \
  row(kDeviceUninitialized, cudaErrorDeviceUninitialized, 201, "the device has no context")                  \
  row(kNoKernelImageForDevice, cudaErrorNoKernelImageForDevice, 209, "the device code is for another architecture") \
  row(kEccUncorrectable, cudaErrorECCUncorrectable, 214, "the memory of the device has lost bits")            \
  row(kPeerAccessUnsupported, cudaErrorPeerAccessUnsupported, 217, "the devices cannot reach each other")    \
  row(kInvalidPtx, cudaErrorInvalidPtx, 218, "the PTX text is wrong")                                        \
  row(kUnsupportedPtxVersion, cudaErrorUnsupportedPtxVersion, 222, "the PTX text is newer than the driver")  \
  row(kInvalidResourceHandle, cudaErrorInvalidResourceHandle, 400, "a handle is wrong or was destroyed")     \
  row(kSymbolNotFound, cudaErrorSymbolNotFound, 500, "nothing has this name")                                \
  row(kNotReady, cudaErrorNotReady, 600, "the work is not done yet")                                         \
  row(kIllegalAddress, cudaErrorIllegalAddress, 700, "a kernel touched memory that is not its own")          \
  row(kLaunchOutOfResources, cudaErrorLaunchOutOfResources, 701, "a launch wants more than a block may have") \
  row(kLaunchTimeout, cudaErrorLaunchTimeout, 702, "a kernel ran for too long")                               \
  row(kContextIsDestroyed, cudaErrorContextIsDestroyed, 709, "the context was destroyed")                    \
  row(kAssert, cudaErrorAssert, 710, "an assertion of a kernel does not hold")                                \
  row(kHostMemoryAlreadyRegistered, cudaErrorHostMemoryAlreadyRegistered, 712, "the memory is registered already") \
  row(kHostMemoryNotRegistered, cudaErrorHostMemoryNotRegistered, 713, "the memory is not registered")       \
  row(kHardwareStackError, cudaErrorHardwareStackError, 714, "a kernel broke its call stack")                 \
  row(kIllegalInstruction, cudaErrorIllegalInstruction, 715, "a kernel has an instruction that the device lacks") \
  row(kMisalignedAddress, cudaErrorMisalignedAddress, 716, "an address has the wrong alignment")             \
  row(kInvalidAddressSpace, cudaErrorInvalidAddressSpace, 717, "an address is of a memory that the instruction does not reach") \
  row(kInvalidPc, cudaErrorInvalidPc, 718, "a kernel jumped to where no code is")                             \
  row(kLaunchFailure, cudaErrorLaunchFailure, 719, "a kernel failed")                                        \
  row(kNotPermitted, cudaErrorNotPermitted, 800, "the call is not allowed here")                             \
  row(kNotSupported, cudaErrorNotSupported, 801, "the guest library does not support this")                  \
  row(kCaptureUnsupported, cudaErrorStreamCaptureUnsupported, 900, "the call is not allowed while a stream is captured") \
  row(kCaptureInvalidated, cudaErrorStreamCaptureInvalidated, 901, "an earlier error ended the capture")     \
  row(kCaptureMerge, cudaErrorStreamCaptureMerge, 902, "two captures would become one")                      \
  row(kCaptureUnmatched, cudaErrorStreamCaptureUnmatched, 903, "the capture did not begin in this stream")   \
  row(kCaptureUnjoined, cudaErrorStreamCaptureUnjoined, 904, "a stream of the capture did not join the first one") \
  row(kCaptureIsolation, cudaErrorStreamCaptureIsolation, 905, "a captured stream would wait for work outside") \
  row(kCaptureImplicit, cudaErrorStreamCaptureImplicit, 906, "the default stream would wait for a captured one") \
  row(kCapturedEvent, cudaErrorCapturedEvent, 907, "the event was recorded in a capture")                    \
  row(kCaptureWrongThread, cudaErrorStreamCaptureWrongThread, 908, "another thread began the capture")       \
  row(kUnknown, cudaErrorUnknown, 999, "an unknown error")
// clang-format on

enum class Error : int {
#define SLUICE_GUEST_ROW(enumerator, name, number, meaning) enumerator = number,
  SLUICE_GUEST_ERRORS(SLUICE_GUEST_ROW)
#undef SLUICE_GUEST_ROW
};

/// Keeps an error for cudaGetLastError of this thread; returns its number.
int note(Error error);
/// The last error of this thread, or of calls that the proxy has carried out meanwhile.
Error last_error(bool is_taken);

}  // namespace sluice::guest

/// Marks the functions that programs call; their names and parameters are the vendor's.
#define SLUICE_GUEST_EXPORT extern "C" __attribute__((visibility("default")))
