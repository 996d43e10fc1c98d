// Tensors and sequences as JSON, for what .npy files cannot hold: strings, bf16, 4-bit integers and
// sequences.
//
//   {"type": "bf16", "shape": [2, 2], "data": [1, 0.5, -2, 0]}
//   {"type": "string", "shape": [2], "data": ["a", "b"]}
//   {"sequence": [{"type": ...}, ...]}
//
// `data` lists the elements in row-major order.
#pragma once

#include <string>
#include <string_view>

#include "sluice/tensors/value.h"

namespace sluice::tool {

/// Takes f64, f32, f16, bf16, all integers, bool (true or false) and strings. Floats are rounded to
/// the nearest value of their type; the words "nan", "inf" and "-inf" stand for what JSON lacks.
/// Fails: kInvalidArgument naming the member that is wrong, the element that does not fit its type,
/// or text over 256 MiB; kUnimplemented for other element types.
Result<Value> parse_json_value(std::string_view text);

/// The same form, on one line. Fails: kUnimplemented for other element types.
Result<std::string> print_json_value(const Value& value);

}  // namespace sluice::tool
