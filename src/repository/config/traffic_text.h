// How requests are divided among versions, as a model's configuration writes it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "dispatch/traffic.h"

namespace sluice::repository {

/// A setting and its value:
///
///     version_labels   "stable=1,canary=2"    what clients may give instead of a number
///     version_weights  "1=90,2=10"            shares of the requests that ask for no version
///     shadow_version   "3"                    gets copies of the others' requests
bool is_traffic(std::string_view setting);

/// Requires: is_traffic. Fails: kInvalidArgument for a value that cannot be.
Status read_traffic(std::string_view setting, std::string_view value, dispatch::Traffic& to);

}  // namespace sluice::repository
