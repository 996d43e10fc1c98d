#include "plugin/libraries/cublaslt.h"

#include <array>

namespace sluice::cuda {
namespace {

constexpr std::size_t kMinVersion = 120000;

// The last two stand for a toolkit that the dynamic linker was not told of.
constexpr std::array<const char*, 4> kUsual = {"libcublasLt.so.13", "libcublasLt.so.12",
                                               "/usr/local/cuda/lib64/libcublasLt.so.13",
                                               "/usr/local/cuda/lib64/libcublasLt.so.12"};

std::string version_of(const CublasLt& table) {
  const std::size_t version = table.get_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Status open_cublaslt(const std::string& named, CublasLt* table) {
  std::string problem;
  void* const opened = open_library({named, "SLUICE_CUDA_CUBLASLT", kUsual}, &problem);
  if (opened == nullptr) {
    return {SLUICE_UNAVAILABLE, "no cuBLASLt: " + problem +
                                    "; install cuBLAS of CUDA 12 or later, or name the file in "
                                    "the variable SLUICE_CUDA_CUBLASLT"};
  }
  Binder binder(opened);
  CublasLt bound;
#define SLUICE_CUDA_ROW(member, name, result, arguments) binder.bind(#name, &bound.member);
  SLUICE_CUBLASLT_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  if (!binder.missing().empty()) {
    return {SLUICE_UNAVAILABLE, "the library of cuBLASLt lacks" + binder.missing()};
  }
  if (bound.get_version() < kMinVersion) {
    return {SLUICE_UNAVAILABLE, name_of(bound) + " is too old: install 12.0 or later"};
  }
  *table = bound;
  return plugin::ok();
}

std::string name_of(const CublasLt& table) {
  return "cuBLASLt " + version_of(table) + " (" +
         file_of(reinterpret_cast<const void*>(table.matmul)) + ")";
}

Status check(const CublasLt& table, LtStatus status, const char* what) {
  if (status == LtStatus::kSuccess) return plugin::ok();
  const std::string text = std::string(what) + ": " + name_of(table) + " says \"" +
                           table.get_status_string(status) + "\" (status " +
                           std::to_string(static_cast<int>(status)) + ")";
  return {status == LtStatus::kAllocationFailed ? SLUICE_RESOURCE_EXHAUSTED : SLUICE_INTERNAL,
          text};
}

}  // namespace sluice::cuda
