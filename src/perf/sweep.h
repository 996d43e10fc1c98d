// The loads of a sweep as a command line names them.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::perf {

/// "8", "1,8,64", or "1:16:5", first and last value and step: 1, 6, 11, 16. A step left out is 1.
/// Fails: kInvalidArgument for another form, a value of at most 0, or more than kMaxLoads values.
Result<std::vector<double>> parse_sweep(std::string_view text);

inline constexpr std::size_t kMaxLoads = 1000;

}  // namespace sluice::perf
