// The word that a mistyped word was probably meant to be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::options {

/// The word with the fewest insertions, deletions, replacements and swaps of neighbouring letters
/// between it and `typed`; the first of equally near ones. Nullopt if that takes more than a third
/// of the letters of `typed`, or one for short words.
std::optional<std::string> find_nearest(std::string_view typed,
                                        const std::vector<std::string>& words);

}  // namespace sluice::options
