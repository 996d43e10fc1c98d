// An emulated machine as a short text.
#pragma once

#include <string_view>

#include "driver/results.h"
#include "emulator/machine/description.h"

namespace sluice::cuda::emulator {

/// Reads "devices=2,capability=9.0,multiprocessors=132,memory=1073741824,seed=7,peers=no,
/// count=FILE": settings in any order, each at most once, the rest as in Description. All devices
/// are alike.
/// Fails: INVALID_ARGUMENT  names the setting and what it may be
Status parse_description(std::string_view text, Description* description);

}  // namespace sluice::cuda::emulator
