// Escapes in strings of a template.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::text::jinja {

/// Python's: \n, \', \x41, \u20AC, \101 ..; a backslash before another character stays.
/// Fails: kInvalidArgument for an escape that names no character.
Result<std::string> unescape(std::string_view text);

}  // namespace sluice::text::jinja
