#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether a lone Cast converts between types that loops over numbers know: integers, bools and
/// floats of 16 bits or more.
bool has_cast(const sluice_op& op);

/// Requires: has_cast(op), known and equal dimensions.
std::unique_ptr<Kernel> make_cast(const sluice_op& op, Isa isa);

}  // namespace sluice::cpu
