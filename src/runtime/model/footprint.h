// The resources that a load needs, estimated before it.
#pragma once

#include <cstdint>

#include "package/executable.h"
#include "terms/model.h"

namespace sluice::runtime {

/// Reads sizes only; touches no constant.
terms::Footprint estimate_footprint(const package::Executable& executable, std::int32_t depth);

}  // namespace sluice::runtime
