#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether the operation is a product that the functions below and no others run: of f64, and
/// MatMul of integers of 32 or 64 bits.
bool is_number_product(const sluice_op& op);

/// Checks MatMul with any stacks and vectors, and Gemm.
Status check_number_product(const sluice_op& op);

Status make_number_product(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
