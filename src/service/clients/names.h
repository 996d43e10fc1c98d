// What clients may call themselves and their models.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sluice::service {

inline constexpr std::size_t kMaxNameBytes = 256;

/// Names stand in lists, logs and metrics. Empty is no name. `what`: for the message.
/// Fails: kInvalid for a name that is longer than kMaxNameBytes, is not UTF-8, or has control
/// characters.
Status check_name(std::string_view name, std::string_view what);

}  // namespace sluice::service
