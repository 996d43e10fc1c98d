// Places within a JSON text (RFC 6901), as "$ref" names them.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "base/result.h"

namespace sluice::grammar {

/// `pointer`: "#", or "#/$defs/point", with %20 and its like. The value is a part of `root`.
/// Fails: kInvalidArgument, naming the pointer.
Result<const nlohmann::ordered_json*> find_pointer(const nlohmann::ordered_json& root,
                                                   std::string_view pointer);

}  // namespace sluice::grammar
