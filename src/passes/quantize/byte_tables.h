// Functions of one byte.
#pragma once

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace sluice::passes {

/// Replaces element-wise operations between DequantizeLinear and QuantizeLinear by a look-up: the
/// table of 256 bytes is computed at compile time.
///     Quantize[f(Dequantize[%q])]   ->   sluice::ByteTable[%q, %table]
/// `at` is the QuantizeLinear. Returns 1 if it was replaced, else 0.
int tabulate_bytes(const ir::Graph& graph, Rewriter& rewriter, const PassContext& context,
                   ir::OperationId at);

}  // namespace sluice::passes
