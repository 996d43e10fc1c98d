#include "plugin/compile/nvrtc.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "plugin/libraries/library_file.h"

namespace sluice::cuda {
namespace {

constexpr int kInvalidOption = 5;  // NVRTC_ERROR_INVALID_OPTION
constexpr std::string_view kVirtual = "compute_";
constexpr std::string_view kReal = "sm_";
constexpr std::array<const char*, 3> kUsual = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

constexpr const char* kLanguage = "--std=c++17";
constexpr const char* kMinimal = "--minimal";  // without the types of the CUDA runtime: reads less

/// Size and time of change of a library: releases of one version differ in them.
std::string file_facts(const std::string& name) {
  std::error_code error;
  const std::uintmax_t size_bytes = std::filesystem::file_size(name, error);
  const auto changed = std::filesystem::last_write_time(name, error).time_since_epoch().count();
  return std::to_string(size_bytes) + " " + std::to_string(changed);
}

/// `compute_75`, `sm_80` or `sm_90a`: nothing that the compiler would take for another option.
bool is_target(std::string_view target) {
  if (!target.starts_with(kVirtual) && !target.starts_with(kReal)) return false;
  const std::string_view number = target.substr(target.find('_') + 1);
  return !number.empty() && number.size() <= 4 &&
         std::ranges::all_of(number, [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

Status Nvrtc::open() {
  std::call_once(once_, [&] { opened_ = open_once(); });
  return opened_;
}

Status Nvrtc::open_once() {
  std::string problem;
  void* const opened = open_library({library_, "SLUICE_CUDA_NVRTC", kUsual}, &problem);
  if (opened == nullptr) {
    return {SLUICE_UNAVAILABLE, "no compiler for CUDA: " + problem +
                                    "; install NVRTC of a CUDA toolkit, 12.5 or later, or name it "
                                    "in the variable SLUICE_CUDA_NVRTC"};
  }
  Binder binder(opened);
  binder.bind("nvrtcVersion", &version_);
  binder.bind("nvrtcGetNumSupportedArchs", &num_architectures_);
  binder.bind("nvrtcGetSupportedArchs", &list_architectures_);
  binder.bind("nvrtcCreateProgram", &create_);
  binder.bind("nvrtcDestroyProgram", &destroy_);
  binder.bind("nvrtcCompileProgram", &compile_);
  binder.bind("nvrtcGetPTXSize", &ptx_size_);
  binder.bind("nvrtcGetPTX", &ptx_);
  binder.bind("nvrtcGetCUBINSize", &cubin_size_);
  binder.bind("nvrtcGetCUBIN", &cubin_);
  binder.bind("nvrtcGetProgramLogSize", &log_size_);
  binder.bind("nvrtcGetProgramLog", &log_);
  if (!binder.missing().empty()) {
    return {SLUICE_UNAVAILABLE, "the compiler for CUDA lacks" + binder.missing()};
  }
  int major = 0;
  int minor = 0;
  version_(&major, &minor);
  identity_ = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " " +
              file_facts(file_of(reinterpret_cast<const void*>(version_)));
  int count = 0;
  if (num_architectures_(&count) == 0 && count > 0) {
    architectures_.resize(static_cast<std::size_t>(count));
    if (list_architectures_(architectures_.data()) != 0) architectures_.clear();
    std::ranges::sort(architectures_);
  }
  return plugin::ok();
}

const std::vector<int>& Nvrtc::architectures() {
  (void)open();  // without a compiler there is none
  return architectures_;
}

std::string Nvrtc::log_of(Program program) const {
  std::size_t size = 0;
  if (log_size_(program, &size) != 0 || size <= 1) return "no reason given";
  std::string log(size, '\0');
  log_(program, log.data());
  log.resize(size - 1);                  // without the NUL
  std::ranges::replace(log, '\n', ' ');  // a message is one line
  return log;
}

Status Nvrtc::take_image(Program program, bool is_ptx, std::string* image) const {
  std::size_t size = 0;
  if ((is_ptx ? ptx_size_ : cubin_size_)(program, &size) != 0) size = 0;
  image->resize(size);
  if (size == 0 || (is_ptx ? ptx_ : cubin_)(program, image->data()) != 0) {
    return plugin::internal_error("the compiler for CUDA gives no code");
  }
  if (is_ptx) image->resize(std::char_traits<char>::length(image->c_str()));  // without the NUL
  return plugin::ok();
}

Status Nvrtc::compile(const std::string& text, const std::string& target, std::string* image) {
  if (Status status = open(); !status.is_ok()) return status;
  if (!is_target(target)) {
    return plugin::invalid_argument("\"" + target + "\" is no architecture, such as sm_80");
  }
  const std::lock_guard lock(mutex_);
  const std::string inputs =
      identity_ + "\n" + target + " " + kLanguage + " " + kMinimal + "\n" + text;
  if (auto kept = cache_.find(inputs)) {
    *image = *std::move(kept);
    return plugin::ok();
  }
  Status status = compile_anew(text, target, image);
  if (status.is_ok()) cache_.keep(inputs, *image);
  return status;
}

Status Nvrtc::compile_anew(const std::string& text, const std::string& target, std::string* image) {
  Program program = nullptr;
  if (create_(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    return plugin::internal_error("the compiler for CUDA does not start");
  }
  const std::string architecture = "--gpu-architecture=" + target;
  const std::array<const char*, 3> options = {architecture.c_str(), kLanguage, kMinimal};
  const int result = compile_(program, options.size(), options.data());
  Status status;
  if (result == kInvalidOption) {
    status = plugin::invalid_argument("the compiler for CUDA has no architecture " + target);
  } else if (result != 0) {
    status = plugin::invalid_argument("a kernel does not compile for " + target + ": " +
                                      log_of(program));
  } else {
    status = take_image(program, target.starts_with(kVirtual), image);
  }
  destroy_(&program);
  return status;
}

}  // namespace sluice::cuda
