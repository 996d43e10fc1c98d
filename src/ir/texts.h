// Strings in a constant: offsets, then the bytes they delimit (see Constant).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/attribute.h"

namespace sluice::ir {

/// What `Constant::data` holds for these strings. Copies them.
Bytes pack_texts(std::span<const std::string_view> texts);

/// The strings of a constant that `verify_constant` accepts. They point into its bytes.
std::vector<std::string_view> unpack_texts(const Constant& constant);
/// The `count` strings that pack_texts packed at `data`. They point there.
std::vector<std::string_view> unpack_texts(const std::byte* data, std::size_t count);

/// A constant of strings; `values.size()` must match the shape.
Constant make_text_constant(std::span<const std::string_view> values, Shape shape);

}  // namespace sluice::ir
