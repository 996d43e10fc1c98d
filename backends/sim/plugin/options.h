#pragma once

#include <span>

#include "description/description.h"

namespace sluice::sim {

/// The one option, `description`: JSON text, or `@` and the path of a file of it.
/// Fails: SLUICE_INVALID_ARGUMENT for other options, or with what is wrong in the description;
///        SLUICE_NOT_FOUND for a file that cannot be read.
Status read_options(std::span<const sluice_option> options, Description* description);

}  // namespace sluice::sim
