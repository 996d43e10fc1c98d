#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether a MatMul of f32 that is accepted is one of matrices by single columns, which are no
/// constants: dot products of rows, for which panels of columns would be mostly empty.
/// Requires: all dimensions are known.
bool is_matrix_by_vector(const sluice_op& op);

/// Requires: is_matrix_by_vector.
Status make_matrix_by_vector(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
