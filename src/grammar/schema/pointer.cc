#include "grammar/schema/pointer.h"

#include <cstddef>
#include <optional>
#include <string>

#include "base/text/number.h"

namespace sluice::grammar {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::string> decode_percent(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto byte = to_number<unsigned>(text.substr(i + 1, 2), 16);
    if (!byte) return std::nullopt;
    decoded += static_cast<char>(*byte);
    i += 2;
  }
  return decoded;
}

/// ~1 is a slash and ~0 a tilde.
std::string decode_name(std::string_view name) {
  std::string decoded;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    const bool is_escape = rest.starts_with("~0") || rest.starts_with("~1");
    decoded += !is_escape ? name[i] : rest[1] == '1' ? '/' : '~';
    if (is_escape) ++i;
  }
  return decoded;
}

const Json* find_in(const Json& value, const std::string& name) {
  if (value.is_object()) {
    const auto found = value.find(name);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = to_number<std::size_t>(name);
  return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
}

}  // namespace

Result<const Json*> find_pointer(const Json& root, std::string_view pointer) {
  const auto decoded = decode_percent(pointer);
  const Json* at = decoded && decoded->starts_with('#') ? &root : nullptr;
  std::string_view rest = decoded ? std::string_view(*decoded) : std::string_view();
  if (!rest.empty()) rest.remove_prefix(1);
  while (at != nullptr && !rest.empty()) {
    const std::size_t end = rest.front() == '/' ? std::min(rest.find('/', 1), rest.size()) : 0;
    at = end == 0 ? nullptr : find_in(*at, decode_name(rest.substr(1, end - 1)));
    rest.remove_prefix(end);
  }
  if (at != nullptr) return at;
  return invalid_argument("\"$ref\" to \"{}\": the schema has no such place", pointer);
}

}  // namespace sluice::grammar
