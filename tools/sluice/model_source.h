// What a command line names as a model: a `.sluice` file, or an ONNX file compiled on the spot.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "package/executable.h"

namespace sluice::tool {

/// Options that every command with a model shares.
struct ModelOptions {
  std::string path;
  std::vector<std::string> shapes;              ///< "name=1,3,224,224"
  std::vector<std::string> backends = {"cpu"};  ///< in order of preference
  bool optimize = true;
  std::vector<std::string> cuts;    ///< operations at which a segment starts
  std::vector<std::int32_t> cores;  ///< by segment
  bool winograd = true;             ///< whether convolutions may be transformed
  int strassen = 0;                 ///< levels of Strassen's method in products, at most 2
  std::string weights = "f32";      ///< how exactly products keep their constant matrices

  void add_to(CLI::App& app);
};

/// `shapes` of ModelOptions, by input name. Fails: kInvalidArgument.
Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(
    const std::vector<std::string>& shapes);

/// The plug-ins of this process, found once.
const backend::BackendRegistry& backend_registry();

/// Reads a package, or imports and compiles; which, the contents decide. `progress` may be empty.
Result<package::Executable> open_model(const ModelOptions& options,
                                       std::function<void(std::string_view)> progress = {});

/// Imports and compiles an ONNX file.
Result<package::Executable> compile_model(const ModelOptions& options, bool pack,
                                          std::function<void(std::string_view)> progress);

}  // namespace sluice::tool
