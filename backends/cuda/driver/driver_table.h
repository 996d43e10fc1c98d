// The CUDA driver's functions as pointers, filled from libcuda.so.1 or by the emulator.
#pragma once

#include <string>
#include <string_view>

#include "driver/entries.h"

namespace sluice::cuda {

/// One pointer per row of entries.h, all set or all null. What the functions do stands in NVIDIA's
/// documentation of the driver API. Copies are alike; a table may be used from several threads.
struct DriverTable {
#define SLUICE_CUDA_ROW(member, name, version, arguments) CuResult(*member) arguments = nullptr;
  SLUICE_CUDA_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW

  /// More about the last failure of an emulated device than its result says: kernel, line, address.
  /// Null for the driver, which knows no more.
  std::string (*explain)() = nullptr;
};

/// cuGetProcAddress_v2: `found` is 0 if the function is there, 1 if no function has the name, 2 if
/// the driver lacks this version of it.
using GetProcAddress = CuResult (*)(const char* name, void** function, int version,
                                    std::uint64_t flags, int* found);

/// The status of a call; the emulator's explanation follows the result. The driver's own
/// thread-local state is read, so this comes right after the call.
Status check_call(const DriverTable& driver, CuResult result, std::string_view what);

/// Versions of CUDA that a driver must support: 12.4 brought green contexts, and 12.5 their
/// streams.
inline constexpr int kMinDriverVersion = 12050;

/// Fills `table` with the functions that `find` knows, each in the version of its row.
/// Fails: UNAVAILABLE          the driver supports only an older CUDA
///        FAILED_PRECONDITION  functions are missing; names them all
Status bind_driver(GetProcAddress find, DriverTable* table);

/// Opens the driver, fills `table` and initialises the driver. The library stays open until the
/// process ends, because the driver's own threads run in it.
/// Fails: as bind_driver; UNAVAILABLE where no driver is installed, or it finds no GPU.
Status open_driver(const std::string& library, DriverTable* table);

/// Whether an open driver has its functions by their names, too, as NVIDIA's libraries look for
/// them. They call without a check what they do not find, as in an emulated driver.
bool exports_functions(const std::string& library);

inline constexpr const char* kDriverLibrary = "libcuda.so.1";

}  // namespace sluice::cuda
