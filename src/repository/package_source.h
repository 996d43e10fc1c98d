// A file of a repository as a package.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/process/child.h"
#include "package/executable.h"
#include "package/memory_file.h"

namespace sluice::repository {

/// What a load takes: a path, or an executable and the file that it lies in.
struct ModelPackage {
  std::filesystem::path path;
  std::shared_ptr<const package::Executable> executable;
  std::unique_ptr<const package::MemoryFile> file;
};

/// Safe from any thread.
class PackageSource {
 public:
  /// `compiler`: the program `sluice`. `limits`: of each compilation. `text_flags`: the program's,
  /// for models of texts.
  PackageSource(std::filesystem::path compiler, ChildLimits limits,
                std::vector<std::string> text_flags)
      : compiler_(std::move(compiler)), limits_(limits), text_flags_(std::move(text_flags)) {}

  /// `file` has no links in it. A package is copied to memory: whoever changes the file later
  /// changes no model. An ONNX file or a folder of a language model becomes a package in a program
  /// of its own, one at a time, which keeps packages by content. Blocks; ends early when `stop` is
  /// requested.
  /// Fails: as parse_package; kNotFound; kInvalidArgument for a model that the compiler refuses;
  ///        kResourceExhausted for a package beyond the usable memory; kUnavailable without a
  ///        compiler; kDeadlineExceeded, kCancelled.
  Result<ModelPackage> open(const std::filesystem::path& file, const std::stop_token& stop);

 private:
  Result<std::filesystem::path> compile(const std::filesystem::path& file,
                                        const std::stop_token& stop);

  const std::filesystem::path compiler_;
  const ChildLimits limits_;
  const std::vector<std::string> text_flags_;
  std::mutex compiling_;  ///< two compilations would need twice the memory
};

}  // namespace sluice::repository
