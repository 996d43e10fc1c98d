// The tactic that an operation names.
#pragma once

#include <string_view>

#include "sluice/backend.hpp"
#include "sluice/extensions/variants.h"

namespace sluice::cuda {

/// The tactic of a generated kernel where a library would be the default.
inline constexpr std::string_view kGenerated = "generated";

/// "" if the operation names none.
inline std::string_view tactic_of(const sluice_op& op) {
  return plugin::Attributes(op).get_text(SLUICE_VARIANT_ATTRIBUTE);
}

}  // namespace sluice::cuda
