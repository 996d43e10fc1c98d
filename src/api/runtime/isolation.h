#pragma once

#include <optional>

#include "runtime/model_host.h"

namespace sluice::api {

/// Of SLUICE_ISOLATION_*; none: the default. Fails: kInvalidArgument.
Result<std::optional<runtime::Isolation>> isolation_of(std::int32_t number);

}  // namespace sluice::api
