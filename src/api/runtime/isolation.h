#pragma once

#include <optional>

#include "terms/group.h"

namespace sluice::api {

/// Of SLUICE_ISOLATION_*; none: the default. Fails: kInvalidArgument.
Result<std::optional<terms::Isolation>> isolation_of(std::int32_t number);

}  // namespace sluice::api
