#pragma once

#include <memory>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Whether the operation is a product of f64, which the functions below and no others run.
inline bool is_double_product(const sluice_op& op) {
  return op.inputs[0].tensor.element_type == plugin::kF64;
}

/// Of MatMul with any stacks and vectors, and of Gemm.
Status check_double_product(const sluice_op& op);

Status make_double_product(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel);

}  // namespace sluice::cpu
