// Softmax of one line of numbers, a part of several kernels.
#pragma once

#include <span>

namespace sluice::reference {

/// exp(x) / sum(exp(x)), in place; the largest element is taken off first.
void softmax(std::span<double> line);
/// Its logarithm.
void log_softmax(std::span<double> line);

}  // namespace sluice::reference
