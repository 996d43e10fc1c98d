#include "driver/results.h"

namespace sluice::cuda {

const char* result_name(CuResult result) {
  switch (result) {
#define SLUICE_CUDA_ROW(enumerator, name, number, meaning) \
  case CuResult::enumerator: return #name;
    SLUICE_CUDA_RESULTS(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  }
  return nullptr;
}

const char* result_meaning(CuResult result) {
  switch (result) {
#define SLUICE_CUDA_ROW(enumerator, name, number, meaning) \
  case CuResult::enumerator: return meaning;
    SLUICE_CUDA_RESULTS(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  }
  return nullptr;
}

bool ends_context(CuResult result) {
  switch (result) {
    case CuResult::kEccUncorrectable:
    case CuResult::kIllegalAddress:
    case CuResult::kLaunchTimeout:
    case CuResult::kContextIsDestroyed:
    case CuResult::kAssert:
    case CuResult::kHardwareStackError:
    case CuResult::kIllegalInstruction:
    case CuResult::kMisalignedAddress:
    case CuResult::kInvalidAddressSpace:
    case CuResult::kInvalidPc:
    case CuResult::kLaunchFailed: return true;
    default: return false;
  }
}

sluice_code code_of(CuResult result) {
  if (ends_context(result)) return SLUICE_UNAVAILABLE;
  switch (result) {
    case CuResult::kSuccess: return SLUICE_OK;
    case CuResult::kInvalidValue:
    case CuResult::kInvalidImage:
    case CuResult::kInvalidPtx: return SLUICE_INTERNAL;  // the plug-in's own call or code
    case CuResult::kOutOfMemory:
    case CuResult::kLaunchOutOfResources: return SLUICE_RESOURCE_EXHAUSTED;
    case CuResult::kNotFound:
    case CuResult::kInvalidDevice:
    case CuResult::kInvalidHandle: return SLUICE_NOT_FOUND;
    case CuResult::kNotReady: return SLUICE_DEADLINE_EXCEEDED;
    case CuResult::kNoBinaryForGpu:
    case CuResult::kUnsupportedPtxVersion:
    case CuResult::kNotSupported: return SLUICE_UNIMPLEMENTED;
    case CuResult::kNoDevice: return SLUICE_UNAVAILABLE;
    default: return SLUICE_FAILED_PRECONDITION;
  }
}

Status check(CuResult result, std::string_view what) {
  if (result == CuResult::kSuccess) return plugin::ok();
  const char* name = result_name(result);
  const std::string number = std::to_string(static_cast<int>(result));
  std::string text(what);
  text += name == nullptr ? ": error " + number + " of the CUDA driver"
                          : std::string(": ") + result_meaning(result) + " (" + name + ")";
  return {code_of(result), std::move(text)};
}

}  // namespace sluice::cuda
