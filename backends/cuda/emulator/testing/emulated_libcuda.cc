// A library in place of libcuda.so.1 whose machine is emulated, for programs that open the driver
// themselves. The variable SLUICE_CUDA_EMULATED describes the machine.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/description_text.h"
#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"

namespace {

using sluice::cuda::CuResult;
using sluice::cuda::DriverTable;

/// Lives until the process ends, as a driver does.
const DriverTable& table() {
  static const DriverTable& started = []() -> const DriverTable& {
    const char* const text = std::getenv("SLUICE_CUDA_EMULATED");
    sluice::cuda::emulator::Description description;
    std::unique_ptr<sluice::cuda::emulator::EmulatedDriver> driver;
    auto status =
        sluice::cuda::emulator::parse_description(text == nullptr ? "" : text, &description);
    if (status.is_ok()) {
      status = sluice::cuda::emulator::EmulatedDriver::start(
          std::move(description), sluice::cuda::emulator::load_ptx, &driver);
    }
    if (!status.is_ok()) {
      std::fprintf(stderr, "%s\n", status.text.c_str());
      std::abort();
    }
    return driver.release()->table();
  }();
  return started;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the driver's name
extern "C" CuResult cuGetProcAddress_v2(const char* name, void** function, int /*version*/,
                                        std::uint64_t /*flags*/, int* found) {
  *found = 0;
#define SLUICE_CUDA_ROW(member, entry, version, arguments) \
  if (std::strcmp(name, #entry) == 0) {                    \
    *function = reinterpret_cast<void*>(table().member);   \
    return CuResult::kSuccess;                             \
  }
  SLUICE_CUDA_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  *found = 1;
  *function = nullptr;
  return CuResult::kSuccess;
}

/// More about the last failure than its result says; "" if nothing is known.
extern "C" const char* sluice_emulated_explain() {
  static thread_local std::string text;
  text = table().explain();
  return text.c_str();
}
