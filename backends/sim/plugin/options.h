#pragma once

#include <span>

#include "description/description.h"

namespace sluice::sim {

/// Reads the only option, `description`: JSON text, or `@` and the path of a file with the text.
/// Fails: SLUICE_INVALID_ARGUMENT for other options, or for an error in the description;
///        SLUICE_NOT_FOUND for a file that cannot be read.
Status read_options(std::span<const sluice_option> options, Description* description);

}  // namespace sluice::sim
