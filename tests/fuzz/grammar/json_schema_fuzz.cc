// Reads any bytes as a JSON schema, and a text of it, which is JSON.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/grammar/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sluice::grammar::Source;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool is_exact = sluice::grammar::testing::walk(Source::Form::kSchema, input);
  const bool is_loose = sluice::grammar::testing::walk(Source::Form::kLooseSchema, input);
  if (!is_exact && !is_loose) return 0;
  const std::size_t end = input.find('\0');
  const auto text = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  if (!nlohmann::json::accept(text)) std::abort();
  return 0;
}
