// Shared libraries of NVIDIA that are opened where they are installed.
#pragma once

#include <span>
#include <string>

#include "sluice/backend.hpp"

namespace sluice::cuda {

using plugin::Status;

/// How a library is found: the file `named` by an option; if empty, the one that the environment's
/// variable names; else the first usual name that the dynamic linker finds.
struct LibraryFile {
  std::string named;
  const char* variable = "";
  std::span<const char* const> usual = {};
};

/// Opens the library; it stays open until the process ends. Null, with the linker's words for the
/// last name in `problem`, if there is none.
void* open_library(const LibraryFile& file, std::string* problem);

/// The file that a function of an open library comes from; "" if the linker does not know.
std::string file_of(const void* function);

/// Finds functions of an open library, and collects the names of missing ones.
class Binder {
 public:
  explicit Binder(void* library) : library_(library) {}

  template <typename Function>
  void bind(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(find(name));
  }
  /// " cublasLtCreate cublasLtMatmul"; "" if all were found.
  const std::string& missing() const { return missing_; }

 private:
  void* find(const char* name);

  void* library_;
  std::string missing_;
};

}  // namespace sluice::cuda
