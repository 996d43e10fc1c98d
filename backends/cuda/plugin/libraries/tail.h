// What is left of an operation behind a library's call: an element-wise kernel over its result.
#pragma once

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// Writes the kernel that computes the body of `op` but for its first `num_steps` steps, whose
/// result output 0 has: it reads and writes output 0 in place. Its operands have the numbers that a
/// kernel of `op` has. The grid is 0 if no step is left.
/// Requires: the result of these steps is read by one later step at most, or is the body's; every
/// dimension is known.
/// Fails: as generate
Status write_tail(const sluice_op& op, int num_steps, Source* source);

}  // namespace sluice::cuda
