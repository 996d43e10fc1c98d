// The activation functions that recurrent networks name.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "reference/kernels/nn/support.h"

namespace sluice::reference {

using Activation = std::function<double(double)>;

/// From attributes activations, activation_alpha and activation_beta: one of each cell's functions
/// for each direction. `defaults` are a cell's functions where none are named.
/// Fails: SLUICE_INVALID_ARGUMENT for an unknown name or a wrong count.
Status read_activations(const Call& call, const std::vector<std::string_view>& defaults,
                        std::int64_t directions, std::vector<Activation>* activations);

}  // namespace sluice::reference
