#pragma once

#include <optional>

#include "kernels/convert/convert.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

/// The memory format of elements of `type`; none for types whose kernels do not compute in floats.
std::optional<Storage> storage_of(sluice_element_type type);

/// f32, f16 and bf16: computed as floats and rounded where they are stored.
bool is_computed_float(sluice_element_type type);

/// f16 and bf16.
bool is_half(sluice_element_type type);

bool is_integer(sluice_element_type type);

/// Whether every value of `type` is a float.
bool fits_float(sluice_element_type type);

}  // namespace sluice::cpu
