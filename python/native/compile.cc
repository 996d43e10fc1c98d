#include "compile.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sluice/compile.hpp>

#include <string_view>
#include <utility>

#include "calls/errors.h"
#include "calls/path.h"
#include "calls/process.h"

namespace nb = nanobind;

namespace sluice::python {
namespace {

/// Calls `progress` with the GIL. Its exception is kept and raised behind the compilation, which
/// cannot be stopped.
class Progress {
 public:
  explicit Progress(nb::object function) : function_(std::move(function)) {}

  void operator()(std::string_view phase) {
    const nb::gil_scoped_acquire acquired;
    if (function_.is_none() || failure_ != nullptr) return;
    try {
      function_(nb::str(phase.data(), phase.size()));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void raise() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  nb::object function_;
  std::exception_ptr failure_;
};

Package compile_source(const nb::object& model, const CompileOptions& options) {
  const NativeCall call;
  auto package = [&]() -> Expected<Package> {
    if (nb::isinstance<nb::bytes>(model)) {
      const auto bytes = nb::cast<nb::bytes>(model);
      const std::span data(static_cast<const std::byte*>(bytes.data()), bytes.size());
      const nb::gil_scoped_release released;
      return compile_bytes(data, options);
    }
    const std::string path = nb::cast<Path>(model).bytes;
    const nb::gil_scoped_release released;
    return compile_file(path, options);
  }();
  if (!package) throw Failure(package.error().code, package.error().message);
  return std::move(*package);
}

nb::object compile_model(const nb::object& model, std::vector<std::string> options,
                         const Path& folder, const Path& output, const nb::object& progress) {
  Progress report(progress);
  const CompileOptions settings = {.options = std::move(options),
                                   .folder = folder.bytes,
                                   .output = output.bytes,
                                   .progress = [&](std::string_view phase) { report(phase); }};
  Package package = compile_source(model, settings);
  report.raise();
  if (!output.bytes.empty()) return nb::none();
  const auto bytes = package.bytes();
  if (!bytes) throw Failure(bytes.error().code, bytes.error().message);
  return nb::bytes((*bytes).data(), (*bytes).size());
}

/// As compile_model's arguments.
std::string key_of(const nb::object& model, std::vector<std::string> options, const Path& folder) {
  const NativeCall call;
  const CompileOptions settings = {.options = std::move(options), .folder = folder.bytes};
  sluice_compile_request request = {};
  const bool is_path = !nb::isinstance<nb::bytes>(model);
  const std::string path = is_path ? nb::cast<Path>(model).bytes : std::string();
  if (is_path) {
    request.path = path.c_str();
  } else {
    const auto bytes = nb::cast<nb::bytes>(model);
    request.data = bytes.data();
    request.size_bytes = bytes.size();
  }
  const auto key = [&] {
    const nb::gil_scoped_release released;
    return compile_key(request, settings);
  }();
  if (!key) throw Failure(key.error().code, key.error().message);
  return *key;
}

}  // namespace

void bind_compile(nb::module_& module) {
  module.def(
      "compile", &compile_model, nb::arg("model"), nb::arg("options"), nb::arg("folder"),
      nb::arg("output"), nb::arg("progress").none(),
      "Compiles an ONNX file or model. Returns the package's bytes, or writes them to `output`.");
  module.def("compile_key", &key_of, nb::arg("model"), nb::arg("options"), nb::arg("folder"),
             "A key for the package that compile would make.");
}

}  // namespace sluice::python
