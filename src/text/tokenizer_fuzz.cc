// Reads any bytes as a tokenizer.json, and as a text that it encodes: ids are in the vocabulary,
// and the text that comes back is UTF-8, in one piece and token by token. A zero byte ends the file
// and begins the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace {

void check(const sluice::text::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  if (!ids.is_ok()) return;
  sluice::text::StreamDecoder stream(tokenizer);
  for (const auto id : *ids) {
    const auto piece = stream.add(id);
    if (piece.is_ok() && sluice::valid_utf8(*piece) != *piece) std::abort();
  }
  const auto decoded = tokenizer.decode(*ids);
  if (decoded.is_ok() && sluice::valid_utf8(*decoded) != *decoded) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const auto tokenizer = sluice::text::Tokenizer::read(input.substr(0, end));
  if (!tokenizer.is_ok()) return 0;
  check(*tokenizer, "Hello, w\xC3\xB6rld  12 \xE2\x96\x81<s>\n");
  if (end != std::string_view::npos) check(*tokenizer, input.substr(end + 1));
  return 0;
}
