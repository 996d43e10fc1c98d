// Functions of one byte.
#pragma once

#include "passes/pass.h"

namespace sluice::passes {

/// What element-wise operations make of dequantized bytes, quantized again, is looked up: a table
/// of 256 bytes, computed here.
///     Quantize[f(Dequantize[%q])]   ->   sluice::ByteTable[%q, %table]
/// `at` is the QuantizeLinear. Gives 1 if it was one, else 0.
int tabulate_bytes(ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context,
                   ir::OperationId at);

}  // namespace sluice::passes
