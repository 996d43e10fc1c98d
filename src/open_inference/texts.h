// Strings as the protocol sends them: before each its number of bytes, 4 bytes, little-endian.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::open_inference {

/// The strings point into `bytes`. Fails: kBadInput unless there are exactly `count`.
Result<std::vector<std::string_view>> read_texts(std::string_view bytes, std::int64_t count);

/// The reverse. Requires: each is shorter than 4 GiB.
std::string write_texts(std::span<const std::string_view> texts);

}  // namespace sluice::open_inference
