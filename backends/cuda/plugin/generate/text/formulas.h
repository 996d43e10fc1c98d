// Element-wise operators as expressions of CUDA C++.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// The float expression of operator `kind` of ONNX's default domain over `inputs`, which are names
/// of values; an empty name is an absent optional input. Fails: UNIMPLEMENTED  no formula has this
/// name, or takes so many inputs
Status write_formula(std::string_view kind, const plugin::Attributes& attributes,
                     std::span<const std::string> inputs, std::string* expression);

}  // namespace sluice::cuda
