#include "options/shapes.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace sluice::options {
namespace {

Result<std::vector<std::int64_t>> parse_dims(std::string_view text) {
  std::vector<std::int64_t> dims;
  const char* at = text.data();
  const char* end = at + text.size();
  if (at == end) return dims;
  while (true) {
    std::int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || (next < end && *next != ',')) {
      return invalid_argument("\"{}\" is no list of dimensions like 1,3,224,224", text);
    }
    dims.push_back(dim);
    if (next == end) return dims;
    at = next + 1;
  }
}

}  // namespace

Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(
    const std::vector<std::string>& shapes) {
  std::map<std::string, std::vector<std::int64_t>> parsed;
  for (const std::string& shape : shapes) {
    // The last one: a name may hold an equals sign, dimensions cannot.
    const std::size_t equals = shape.rfind('=');
    if (equals == std::string::npos) {
      return invalid_argument("--shape {}: write it as name=1,3,224,224", shape);
    }
    std::string name = shape.substr(0, equals);
    auto dims = SLUICE_TRY(parse_dims(std::string_view(shape).substr(equals + 1)));
    if (parsed.contains(name)) {
      return invalid_argument("--shape {}: \"{}\" has a shape already; give it once", shape, name);
    }
    parsed.emplace(std::move(name), std::move(dims));
  }
  return parsed;
}

}  // namespace sluice::options
