// The file that lists a repository's models, in place of a folder.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "repository/config/model_list.h"

namespace sluice::repository {

/// Keeps a list until its file changes: a look at thousands of models parses the list once. Safe
/// across threads.
class ListFile {
 public:
  using List = std::shared_ptr<const ModelList>;

  /// `file` is the same in all calls. Fails: as reading the file and read_model_list.
  Result<List> read(const std::filesystem::path& file);
  /// The next call reads the file in any case. Two changes within a tick of the file system's
  /// clock may have the same time.
  void forget();

 private:
  std::mutex mutex_;     ///< guards the members below
  std::string version_;  ///< of the file that `list_` comes from
  std::optional<Result<List>> list_;
};

}  // namespace sluice::repository
