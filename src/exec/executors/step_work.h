// How long a step takes, estimated from its shapes alone.
#pragma once

#include "exec/facts/facts.h"

namespace sluice::exec {

/// Nanoseconds on one core, roughly: multiply-adds of convolutions, products and recurrences, and
/// bytes of all operands. Good enough to compare branches of one graph with each other.
double estimate_work(const ir::Operation& operation, const Facts& facts);

}  // namespace sluice::exec
