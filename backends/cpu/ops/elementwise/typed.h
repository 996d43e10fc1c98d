#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether a lone operation computes in its elements' own type: integers, bools and f64, of which
/// floats would lose digits or time.
bool is_typed(const sluice_op& op);

Status check_typed(const sluice_op& op);
Status make_typed(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

/// Operators that have no other fast form.
std::vector<const char*> typed_kinds();

}  // namespace sluice::cpu
