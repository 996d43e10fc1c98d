// JSON of a request, whose numbers may have more digits than 64 bits.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "base/result.h"

namespace sluice::http {

/// `text` has SIMDJSON_PADDING readable bytes behind its end. The parser owns the result's texts. A
/// whole number beyond 64 bits is a double.
/// Fails: kInvalidArgument for what is no JSON, or holds a number beyond a double's range.
Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, std::string_view text);

}  // namespace sluice::http
