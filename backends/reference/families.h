// The families of kernels, one file of kernels/ each. `registry.cc` joins them.
#pragma once

#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

std::vector<KernelEntry> elementwise_unary_kernels();

}  // namespace sluice::reference
