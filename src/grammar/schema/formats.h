// The word "format" of JSON schemas.
#pragma once

#include <optional>
#include <string_view>

namespace sluice::grammar {

/// A pattern all of whose texts have the format; nullopt for one that is not known.
std::optional<std::string_view> pattern_of_format(std::string_view format);

}  // namespace sluice::grammar
