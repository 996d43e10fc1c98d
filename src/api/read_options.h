// Structs of options that callers of another version fill.
#pragma once

#include "terms/read_options.h"

namespace sluice::api {

using terms::read_options;

}  // namespace sluice::api
