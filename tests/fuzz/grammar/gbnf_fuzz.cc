// Reads any bytes as a grammar in GBNF, and a text of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/grammar/walk.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sluice::grammar::Source;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(sluice::grammar::testing::walk(Source::Form::kGbnf, input));
  return 0;
}
