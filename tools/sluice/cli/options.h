// Options of subcommands, by their short names.
#pragma once

#include "options/options.h"
#include "options/seconds.h"

namespace sluice::tool {

using options::nanoseconds_of;
using options::Option;
using options::Options;

}  // namespace sluice::tool
