// Misspelled names.
#pragma once

#include <span>
#include <string_view>

namespace sluice::ops {

/// The candidate that `name` most likely means: equal but for case and underscores, a beginning of
/// the other, or a few letters apart. Empty if none is.
std::string_view similar_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace sluice::ops
