// The graph between passes, as files for people.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::compiler {

/// Writes graphs to a folder, in order: "00-import.txt", "01-fold_constants.txt". A constant of
/// more than 16 elements is only a number there. Files of an earlier compilation are removed. Used
/// by one thread.
class GraphFiles {
 public:
  /// Fails: kPermissionDenied, kNotFound  the folder cannot be made
  static Result<GraphFiles> create(std::filesystem::path folder);

  Status write(std::string_view stage, const ir::Graph& graph);

 private:
  explicit GraphFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
  int next_ = 0;
};

}  // namespace sluice::compiler
