// The package that a command sends to a daemon.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sluice/cli/options.h"

namespace sluice::tool {

/// What the user named: a package, or an ONNX file, which is compiled first.
class PackageOptions {
 public:
  /// The positional argument, --backend and --by-path.
  void add_to(Options& options);
  /// Whether the daemon reads the file itself.
  bool is_by_path() const { return is_by_path_; }
  /// As the daemon may know the file; absolute.
  std::string path() const;
  /// The file's name without its ending.
  std::string stem() const;

  /// Where a package lies; a compiled one goes with its owner.
  struct File {
    std::string path;
    std::shared_ptr<const void> owner;
  };
  /// Runs `sluice compile` for an ONNX file and waits for it; what it refuses, it says on stderr.
  /// Fails: kInvalidArgument  it refused, or the daemon shall read an ONNX file
  ///        kUnavailable      there is no `sluice` beside this program
  Result<File> find() const;
  /// The same for a package that no options name; an ONNX file is compiled for the backend cpu.
  static Result<File> find(const std::string& path);

 private:
  std::string path_;
  std::vector<std::string> backends_;
  bool is_by_path_ = false;
};

}  // namespace sluice::tool
