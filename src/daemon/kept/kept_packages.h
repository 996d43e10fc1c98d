// The uploaded packages that a restarted daemon deploys again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/result.h"

namespace sluice::daemon {

/// A folder that only the daemon's user may look into. Deployments of equal packages share a file,
/// which goes with the last of them; equal ones that are loaded are one object. Safe across
/// threads.
class KeptPackages {
 public:
  explicit KeptPackages(std::filesystem::path folder) : folder_(std::move(folder)) {}

  struct Package {
    Bytes bytes;
    FileDescriptor file;
  };

  /// Takes the file of an equal package, or copies `package_fd`, the file of `package`, to one that
  /// is called after `number`. On the disk when it returns; `drop` undoes it.
  /// Fails: kOutOfResources for a full disk and other errors of files.
  Result<std::string> take(std::int64_t number, const std::shared_ptr<const void>& package,
                           int package_fd);
  /// The file belongs to one more deployment, of `package`; null if it is not loaded.
  void add(const std::string& name, const std::shared_ptr<const void>& package);
  void drop(const std::string& name);
  /// Fails: as map_file.
  Result<Package> open(const std::string& name) const;
  /// Removes files that no deployment has: those of a daemon that died between a package and its
  /// list. Before the first `take`.
  void remove_others() const;
  /// The largest number that a file is called after; 0 without files.
  std::int64_t last_number() const;

 private:
  struct Use {
    int num_deployments = 0;
    std::weak_ptr<const void> package;
  };
  Status write(const std::string& name, int package_fd) const;
  std::vector<std::string> files() const;

  const std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::string, Use> uses_;  ///< by name
};

}  // namespace sluice::daemon
