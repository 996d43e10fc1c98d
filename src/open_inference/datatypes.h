// Element types by the names that the Open Inference Protocol gives them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/element_type.h"

namespace sluice::open_inference {

/// "FP32", "INT64", "BYTES", ... The protocol has no complex numbers and none of fewer than eight
/// bits: empty for those.
std::string_view datatype_name(ir::ElementType type);
/// As a ModelConfig names it: "TYPE_FP32", "TYPE_STRING", ...; "TYPE_INVALID" for one without a
/// name.
std::string config_type(ir::ElementType type);
std::optional<ir::ElementType> find_datatype(std::string_view name);

}  // namespace sluice::open_inference
