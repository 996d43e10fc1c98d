// Softmax of one line of numbers, for kernels that do it on the way.
#pragma once

#include <span>

namespace sluice::reference {

/// exp(x) / sum(exp(x)), in place; the largest element is taken off first.
void softmax(std::span<double> line);
/// Its logarithm.
void log_softmax(std::span<double> line);

}  // namespace sluice::reference
