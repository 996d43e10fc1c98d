// Dimensions as a command line has them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::options {

/// Dimensions by the name of an input, of texts like "name=1,3,224,224", or one by its own name, of
/// texts like "N=4". Fails: kInvalidArgument.
Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(
    const std::vector<std::string>& shapes);

}  // namespace sluice::options
