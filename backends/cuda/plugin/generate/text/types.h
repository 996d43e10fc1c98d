// Element types in generated kernels.
#pragma once

#include <string>
#include <string_view>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// What a kernel calls the type: "float", "F16", "long long". Empty for types that no kernel knows:
/// texts, complex numbers, and those of less than a byte.
std::string_view type_name(sluice_element_type type);

/// f32, f16 and bf16. Kernels compute with all of them in single precision.
bool is_real(sluice_element_type type);

/// Integers of whole bytes, without bool.
bool is_integer(sluice_element_type type);

/// Defines F16 and BF16, ahead of a kernel: types that convert to float where they are read, and
/// round to the nearest where a float is assigned to them. Empty for operations without them.
std::string types_text(const sluice_op& op);

/// Element `index` of a constant of a real type.
float real_at(const sluice_tensor& constant, std::size_t index);

}  // namespace sluice::cuda
