// NVIDIA's compiler as a library: CUDA C++ text to PTX or machine code. Opened at run time, never
// linked.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "plugin/compile/kernel_cache.h"
#include "sluice/backend.hpp"

namespace sluice::cuda {

using plugin::Status;

/// The compiler of a CUDA toolkit. Safe from several threads, which take turns. The library is
/// opened when somebody needs it, because it takes 30 MB, and stays open until the process ends.
class Nvrtc {
 public:
  /// `library` names the file. An empty name stands for that in the variable SLUICE_CUDA_NVRTC, or
  /// else for the first of `libnvrtc.so.13`, `libnvrtc.so.12` and `libnvrtc.so` that is found.
  explicit Nvrtc(std::string library) : library_(std::move(library)) {}

  /// Opens the library. Every call tells how the first one went.
  /// Fails: UNAVAILABLE  there is none, or it lacks a function
  Status open();

  /// The architectures that this compiler knows, ascending: 75 for 7.5. Empty without a compiler.
  const std::vector<int>& architectures();

  /// Compiles `text` for a target: `compute_75` gives PTX, `sm_80` machine code of that
  /// architecture. The text has no header of the host: built-in functions and types alone.
  /// KernelCache has code that any process compiled with this library.
  /// Fails: as `open`; INVALID_ARGUMENT for another target, one that this compiler does not know,
  ///        and with the compiler's log
  Status compile(const std::string& text, const std::string& target, std::string* image);

 private:
  using Program = struct NvrtcProgram*;  // nvrtcProgram

  Status open_once();
  Status compile_anew(const std::string& text, const std::string& target, std::string* image);
  Status take_image(Program program, bool is_ptx, std::string* image) const;
  /// What the log of a program says.
  std::string log_of(Program program) const;

  const std::string library_;
  std::once_flag once_;
  Status opened_;
  std::vector<int> architectures_;
  std::string identity_;
  std::mutex mutex_;  // of compilations and the cache
  KernelCache cache_;
  int (*version_)(int* major, int* minor) = nullptr;
  int (*num_architectures_)(int* count) = nullptr;
  int (*list_architectures_)(int* numbers) = nullptr;
  int (*create_)(Program*, const char* text, const char* name, int num_headers,
                 const char* const* headers, const char* const* names) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int num_options, const char* const* options) = nullptr;
  int (*ptx_size_)(Program, std::size_t*) = nullptr;
  int (*ptx_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, std::size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
};

}  // namespace sluice::cuda
