// Compares a tensor with its expected value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// Allowed: |got - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// Per float type; the rest must be equal.
using Tolerances = std::map<ir::ElementType, Tolerance>;

/// Tolerances for expected values of other programs: short floats may differ by two units in the
/// last place, because programs truncate or round, and at different steps.
Tolerances default_tolerances();

/// The defaults, and what `overrides` say: "f32=1e-4,1e-6" is relative and absolute.
/// Fails: kInvalidArgument.
Result<Tolerances> parse_tolerances(const std::vector<std::string>& overrides);

/// "" if `got` has the type and shape of `expected` and every element agrees; else what differs.
std::string find_difference(const terms::TensorView& got, const ir::Constant& expected,
                            const Tolerances& tolerances);

}  // namespace sluice::tool
