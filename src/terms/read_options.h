// Structs of options that callers of another version fill.
#pragma once

#include <algorithm>
#include <cstring>

namespace sluice::terms {

/// The caller's struct may be older and shorter than ours: fields past its end keep their default.
/// Null: all defaults.
template <typename Options>
Options read_options(const Options* options) {
  Options known = {};
  if (options == nullptr) return known;
  const std::size_t size = std::min<std::size_t>(options->struct_size, sizeof(known));
  std::memcpy(&known, options, size);
  return known;
}

}  // namespace sluice::terms
