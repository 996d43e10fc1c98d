// What becomes of the delimiters between pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/unicode/regex.h"

namespace sluice::text {

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous".
/// Fails: kInvalidArgument.
Result<SplitBehavior> parse_split_behavior(std::string_view name);

/// Takes the parts of a piece from left to right, delimiters and what is between them, and appends
/// pieces to `spans`. Empty pieces are dropped.
class Splitter {
 public:
  Splitter(SplitBehavior behavior, std::vector<Match>& spans)
      : behavior_(behavior), spans_(spans), first_(spans.size()) {}

  void add(Match part, bool is_delimiter);
  /// Once, behind the last part.
  void finish();

 private:
  void push(Match part) { spans_.push_back(part); }
  void extend(Match part);

  SplitBehavior behavior_;
  std::vector<Match>& spans_;
  std::size_t first_;  ///< index of the first piece that came from here
  bool follows_delimiter_ = false;
  std::optional<Match> waiting_;  ///< kMergedWithNext: a delimiter whose right neighbour is unknown
};

}  // namespace sluice::text
