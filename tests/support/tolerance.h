// How far a result may be from the exact one, in one table per element type.
#pragma once

#include <cmath>

#include "ir/element_type.h"

namespace sluice::testing {

/// Allowed: |actual - exact| <= absolute + relative * |exact|.
struct Tolerance {
  double relative;
  double absolute;
};

/// For one element-wise operation; sums of n terms deserve about sqrt(n) of it.
constexpr Tolerance tolerance_of(ir::ElementType type) {
  switch (type) {
    case ir::ElementType::kF64: return {1e-12, 1e-14};
    case ir::ElementType::kF32: return {2e-6, 1e-6};
    case ir::ElementType::kF16: return {2e-3, 1e-4};
    case ir::ElementType::kBf16: return {1.6e-2, 1e-3};
    default: return {0, 0};  // integers and bools are exact
  }
}

/// NaN is close to NaN only, an infinity to itself only.
inline bool is_close(double actual, double exact, Tolerance tolerance) {
  if (std::isnan(exact) || std::isnan(actual)) return std::isnan(exact) && std::isnan(actual);
  if (std::isinf(exact) || std::isinf(actual)) return actual == exact;
  return std::abs(actual - exact) <= tolerance.absolute + tolerance.relative * std::abs(exact);
}

}  // namespace sluice::testing
