// Options of subcommands, by their short names.
#pragma once

#include "options/options.h"

namespace sluice::tool {

using options::Option;
using options::Options;

}  // namespace sluice::tool
