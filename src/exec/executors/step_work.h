// How long a step takes, estimated from its shapes alone.
#pragma once

#include "exec/facts/facts.h"

namespace sluice::exec {

/// Nanoseconds on one core, roughly: multiply-adds of convolutions, products and recurrences, and
/// bytes of all operands. Good enough to compare branches of one graph with each other. A generic
/// kernel takes about a hundred times as long as one of its own.
double estimate_work(const ir::Operation& operation, const Facts& facts, bool is_generic = false);

}  // namespace sluice::exec
