#pragma once

#include <optional>

#include "kernels/elements/typed.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

/// How loops over elements of their own type know a type; bools are bytes.
inline std::optional<Number> number_of(sluice_element_type type) {
  switch (type) {
    case plugin::kBool:
    case plugin::kU8: return Number::kU8;
    case plugin::kI8: return Number::kI8;
    case plugin::kU16: return Number::kU16;
    case plugin::kI16: return Number::kI16;
    case plugin::kU32: return Number::kU32;
    case plugin::kI32: return Number::kI32;
    case plugin::kU64: return Number::kU64;
    case plugin::kI64: return Number::kI64;
    case plugin::kF32: return Number::kF32;
    case plugin::kF64: return Number::kF64;
    default: return std::nullopt;
  }
}

}  // namespace sluice::cpu
