#pragma once

#include <string>
#include <vector>

#include "kernels/matrix/gemm.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The pieces in which the operation, a product, asks to be computed; the usual ones for none.
GemmBlocks gemm_blocks(const sluice_op& op, Isa isa);

/// Names of the ways in which the plan's product differs; see OpEntry::tactics. `is_bytes`: B is
/// kept in 8 bits.
std::vector<std::string> list_gemm_tactics(GemmPlan plan, bool is_bytes, int workers);

}  // namespace sluice::cpu
