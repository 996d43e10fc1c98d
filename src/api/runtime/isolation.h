#pragma once

#include <optional>

#include "terms/group.h"

namespace sluice::api {

/// The isolation of a SLUICE_ISOLATION_* number; none: the default. Fails: kInvalidArgument.
Result<std::optional<terms::Isolation>> isolation_of(std::int32_t number);

}  // namespace sluice::api
