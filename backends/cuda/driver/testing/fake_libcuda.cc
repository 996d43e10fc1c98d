// A library that looks like libcuda.so.1 of a machine whose driver finds no GPU. The variable
// SLUICE_FAKE_CUDA_VERSION is the version that it supports, as 11040.
#include <cstdlib>
#include <cstring>

#include "driver/driver_table.h"

namespace {

using sluice::cuda::CuResult;

CuResult init(unsigned /*flags*/) { return CuResult::kNoDevice; }
CuResult get_version(int* version) {
  const char* const told = std::getenv("SLUICE_FAKE_CUDA_VERSION");
  *version = told == nullptr ? sluice::cuda::kMinDriverVersion : std::atoi(told);
  return CuResult::kSuccess;
}
CuResult unused() { return CuResult::kNotSupported; }

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the driver's name
extern "C" CuResult cuGetProcAddress_v2(const char* name, void** function, int /*version*/,
                                        std::uint64_t /*flags*/, int* found) {
  *found = 0;
  *function = reinterpret_cast<void*>(&unused);
  if (std::strcmp(name, "cuInit") == 0) *function = reinterpret_cast<void*>(&init);
  if (std::strcmp(name, "cuDriverGetVersion") == 0)
    *function = reinterpret_cast<void*>(&get_version);
  return CuResult::kSuccess;
}
