#include "plugin/libraries/cudnn.h"

#include <array>

namespace sluice::cuda {
namespace {

constexpr std::size_t kMinVersion = 90000;

// The last one stands for a toolkit that the dynamic linker was not told of.
constexpr std::array<const char*, 3> kUsual = {"libcudnn_graph.so.9", "libcudnn.so.9",
                                               "/usr/local/cuda/lib64/libcudnn_graph.so.9"};

std::string version_of(const Cudnn& table) {
  const std::size_t version = table.get_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Status open_cudnn(const std::string& named, Cudnn* table) {
  std::string problem;
  void* const opened = open_library({named, "SLUICE_CUDA_CUDNN", kUsual}, &problem);
  if (opened == nullptr) {
    return {SLUICE_UNAVAILABLE, "no cuDNN: " + problem +
                                    "; install cuDNN 9, or name the file in the variable "
                                    "SLUICE_CUDA_CUDNN"};
  }
  Binder binder(opened);
  Cudnn bound;
#define SLUICE_CUDA_ROW(member, name, result, arguments) binder.bind(#name, &bound.member);
  SLUICE_CUDNN_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  if (!binder.missing().empty()) {
    return {SLUICE_UNAVAILABLE, "the library of cuDNN lacks" + binder.missing()};
  }
  if (bound.get_version() < kMinVersion) {
    return {SLUICE_UNAVAILABLE, name_of(bound) + " is too old: install 9.0 or later"};
  }
  *table = bound;
  return plugin::ok();
}

std::string name_of(const Cudnn& table) {
  return "cuDNN " + version_of(table) + " (" +
         file_of(reinterpret_cast<const void*>(table.execute)) + ")";
}

Status check(const Cudnn& table, DnnStatus status, const char* what) {
  if (status == DnnStatus::kSuccess) return plugin::ok();
  std::array<char, 512> reason = {};
  table.get_last_error_string(reason.data(), reason.size() - 1);
  std::string text = std::string(what) + ": " + name_of(table) + " says \"" +
                     table.get_error_string(status) + "\"";
  if (reason[0] != '\0') text += ", because of " + std::string(reason.data());
  const bool is_full =
      status == DnnStatus::kAllocationFailed || status == DnnStatus::kDeviceAllocationFailed;
  return {is_full ? SLUICE_RESOURCE_EXHAUSTED : SLUICE_INTERNAL, text};
}

}  // namespace sluice::cuda
