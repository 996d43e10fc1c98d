// A shared library opened at run time.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace sluice {

/// Owns a dlopen handle; closes it on destruction. The library stays in the process all the same,
/// so addresses of its symbols stay valid, and a file that took its place is not read. Move-only.
class DynamicLibrary {
 public:
  /// Opens with all symbols resolved now and kept local to the library.
  /// Fails: kNotFound with the dynamic linker's own text.
  static Result<DynamicLibrary> open(const std::filesystem::path& path);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  /// Address of an exported symbol, null if there is none.
  void* find_symbol(const char* name) const;

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace sluice
