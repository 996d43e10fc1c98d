// The activation functions that recurrent networks name.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "reference/kernels/support.h"

namespace sluice::reference {

using Activation = std::function<double(double)>;

/// Reads the attributes activations, activation_alpha and activation_beta: the functions of a cell
/// for each direction. `defaults` are a cell's functions if the attribute is absent.
/// Fails: SLUICE_FAILED_PRECONDITION for an unknown name or a wrong count.
Status read_activations(const Call& call, const std::vector<std::string_view>& defaults,
                        std::int64_t directions, std::vector<Activation>* activations);

}  // namespace sluice::reference
