// Elements of a tensor as JSON. For this folder alone: the layout of simdjson's parser depends on
// definitions that its library is linked with.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "ir/element_type.h"
#include "open_inference/request.h"
#include "terms/runtime_code.h"

namespace sluice::http {

/// What a client sent, and why it cannot be.
template <typename... Args>
Status bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return terms::runtime_error(RuntimeCode::kBadInput, format, std::forward<Args>(args)...);
}

/// JSON has one kind of number: a client that computed one writes 5.0 or 1e1. Nullopt for what is
/// not whole, and for more than 2^53 written so.
std::optional<std::int64_t> whole_number(simdjson::dom::element from);

/// Row-major bytes of a list, flat or nested as the shape is; strings as open_inference/texts.h
/// says.
/// Fails: kBadInput for FP16 and BF16, which JSON does not have, and for an element of another kind
///        or one that does not fit the type.
Result<std::string> read_elements(simdjson::dom::element list, ir::ElementType type);

/// Appends a flat list. Numbers come back as they were.
/// Fails: kBadInput for types that JSON lacks, for NaN and infinities, and for strings that are not
///        UTF-8: the client asks for binary data then.
Status write_elements(const open_inference::OutputTensor& output, std::string& to);

}  // namespace sluice::http
