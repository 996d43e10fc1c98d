// The names of an output's classes, as a configuration's label_filename gives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::repository {

inline constexpr std::int64_t kMaxLabelBytes = 4 << 20;  ///< of the file

/// A line for each class, from class 0. An empty line is a class without a name.
/// Fails: kInvalidArgument naming the line for one that is no UTF-8 or over 256 bytes, and for
///        more than 262,144 lines.
Result<std::vector<std::string>> parse_labels(std::string_view text);

}  // namespace sluice::repository
