// The compiler as a library, in C++: a header-only layer over `sluice/compile.h`.
//
//   auto package = sluice::compile_file("digits.onnx", {.options = {"--weights", "bf16"}});
//   if (!package) return fail(package.error());
//   package->save("digits.sluice");
//
// Errors are values; no function throws. `sluice/status.h` lists the codes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/compile.h"
#include "sluice/sluice.hpp"

namespace sluice {

/// How to compile. `options` are those of `sluice compile`: {"--weights", "bf16"}.
struct CompileOptions {
  std::vector<std::string> options = {};
  std::string folder = {};       ///< of external data of a model in memory; empty: refused
  std::string backend_dir = {};  ///< folder of plug-ins; empty: the default
  /// The file to write while compiling, with few weights in memory; empty: the package lies there.
  std::string output = {};
  /// Hears the name of each phase as it starts. Must not throw.
  std::function<void(std::string_view phase)> progress = {};
};

/// A compiled model. Movable. Use it from one thread at a time.
class Package {
 public:
  [[nodiscard]] std::optional<Error> save(const std::string& path) const {
    return check(sluice_package_save(handle_.get(), path.c_str()));
  }
  /// The bytes of a `.sluice` file, which live as long as the package.
  Expected<std::span<const std::byte>> bytes() {
    const void* data = nullptr;
    std::size_t size_bytes = 0;
    if (auto error = check(sluice_package_bytes(handle_.get(), &data, &size_bytes))) return *error;
    return std::span(static_cast<const std::byte*>(data), size_bytes);
  }
  std::size_t num_operations() const { return sluice_package_num_operations(handle_.get()); }

 private:
  friend Expected<Package> compile(sluice_compile_request request, const CompileOptions& options);
  explicit Package(sluice_package* handle) : handle_(handle) {}
  [[nodiscard]] static std::optional<Error> check(sluice_code code) {
    if (code == SLUICE_OK) return std::nullopt;
    return Error{Code(code), sluice_compile_last_error()};
  }
  std::unique_ptr<sluice_package, detail::Deleter<sluice_package, sluice_package_free>> handle_;
};

namespace detail {

/// Lends the options to a request. `texts` lives as long as it.
inline void lend(const CompileOptions& options, std::vector<const char*>& texts,
                 sluice_compile_request& request) {
  for (const std::string& text : options.options) texts.push_back(text.c_str());
  request.struct_size = sizeof(request);
  request.options = texts.data();
  request.num_options = texts.size();
  if (!options.folder.empty()) request.folder = options.folder.c_str();
  if (!options.backend_dir.empty()) request.backend_dir = options.backend_dir.c_str();
}

}  // namespace detail

/// Compiles the model that `request` names by its path, data or fd; all else is taken from
/// `options`.
inline Expected<Package> compile(sluice_compile_request request, const CompileOptions& options) {
  std::vector<const char*> texts;
  detail::lend(options, texts, request);
  std::vector<const sluice_operator*> operators(sluice_num_operators());
  for (std::size_t i = 0; i < operators.size(); ++i) operators[i] = sluice_operator_at(i);
  request.operators = operators.data();
  request.num_operators = operators.size();
  if (!options.output.empty()) request.output = options.output.c_str();
  if (options.progress) {
    request.progress = [](void* user_data, const char* phase) {
      static_cast<const CompileOptions*>(user_data)->progress(phase);
    };
    request.user_data = const_cast<CompileOptions*>(&options);
  }
  sluice_package* handle = nullptr;
  if (auto error = Package::check(sluice_compile(&request, &handle))) return *error;
  return Package(handle);
}

/// Compiles the ONNX file at `path`.
inline Expected<Package> compile_file(const std::string& path, const CompileOptions& options = {}) {
  sluice_compile_request request = {};
  request.path = path.c_str();
  return compile(request, options);
}

/// Compiles an ONNX model in memory, borrowed for the call.
inline Expected<Package> compile_bytes(std::span<const std::byte> model,
                                       const CompileOptions& options = {}) {
  sluice_compile_request request = {};
  request.data = model.data();
  request.size_bytes = model.size();
  return compile(request, options);
}

/// A key for the package that `compile` would make of the model that `request` names by its path,
/// data or fd: the name of a file in a cache, as sluice_compile_key says.
inline Expected<std::string> compile_key(sluice_compile_request request,
                                         const CompileOptions& options = {}) {
  std::vector<const char*> texts;
  detail::lend(options, texts, request);
  char key[SLUICE_COMPILE_KEY_BYTES];
  const sluice_code code = sluice_compile_key(&request, key, sizeof(key));
  if (code != SLUICE_OK) return Error{Code(code), sluice_compile_last_error()};
  return std::string(key);
}

}  // namespace sluice
