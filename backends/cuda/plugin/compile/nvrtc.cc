#include "plugin/compile/nvrtc.h"

#include <dlfcn.h>

#include <array>

namespace sluice::cuda {
namespace {

void* open_first(const std::string& library, std::string* problem) {
  const std::array<std::string, 3> usual = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  const std::span<const std::string> names =
      library.empty() ? std::span<const std::string>(usual) : std::span(&library, 1);
  for (const std::string& name : names) {
    if (void* const opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); opened != nullptr) {
      return opened;
    }
    *problem = dlerror();
  }
  return nullptr;
}

}  // namespace

Status Nvrtc::open() {
  std::call_once(once_, [&] { opened_ = open_once(); });
  return opened_;
}

Status Nvrtc::open_once() {
  std::string problem;
  void* const opened = open_first(library_, &problem);
  if (opened == nullptr) {
    return {SLUICE_UNAVAILABLE, "no compiler for CUDA: " + problem +
                                    "; install NVRTC of a CUDA toolkit, 12.5 or later, or name it "
                                    "with the option nvrtc=PATH"};
  }
  std::string missing;
  const auto bind = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(opened, name));
    if (*function == nullptr) missing += std::string(" ") + name;
  };
  bind("nvrtcCreateProgram", &create_);
  bind("nvrtcDestroyProgram", &destroy_);
  bind("nvrtcCompileProgram", &compile_);
  bind("nvrtcGetPTXSize", &ptx_size_);
  bind("nvrtcGetPTX", &ptx_);
  bind("nvrtcGetProgramLogSize", &log_size_);
  bind("nvrtcGetProgramLog", &log_);
  if (missing.empty()) return plugin::ok();
  return {SLUICE_UNAVAILABLE, "the compiler for CUDA lacks" + missing};
}

std::string Nvrtc::log_of(Program program) const {
  std::size_t size = 0;
  if (log_size_(program, &size) != 0 || size <= 1) return "no reason given";
  std::string log(size, '\0');
  log_(program, log.data());
  log.resize(size - 1);  // without the NUL
  return log;
}

Status Nvrtc::compile(const std::string& text, int capability, std::string* ptx) {
  if (Status status = open(); !status.is_ok()) return status;
  const std::lock_guard lock(mutex_);
  Program program = nullptr;
  if (create_(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    return plugin::internal_error("the compiler for CUDA does not start");
  }
  const std::string architecture = "--gpu-architecture=compute_" + std::to_string(capability);
  const std::array<const char*, 2> options = {architecture.c_str(), "--std=c++17"};
  Status status;
  std::size_t size = 0;
  if (compile_(program, options.size(), options.data()) != 0 || ptx_size_(program, &size) != 0) {
    status = plugin::internal_error("a generated kernel does not compile: " + log_of(program));
  } else {
    ptx->resize(size);
    if (ptx_(program, ptx->data()) != 0) status = plugin::internal_error("no PTX was made");
  }
  destroy_(&program);
  return status;
}

}  // namespace sluice::cuda
