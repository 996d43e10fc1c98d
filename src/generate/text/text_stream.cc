#include "generate/text/text_stream.h"

namespace sluice::generate {

Result<std::string> TextStream::add(std::int64_t token) {
  const text::TokenId id(static_cast<std::int32_t>(token));
  const std::string piece = SLUICE_TRY(decoder_.add(id));
  return stops_.push(piece);
}

Result<std::string> TextStream::spell(std::int64_t token) const {
  return decoder_.spell(text::TokenId(static_cast<std::int32_t>(token)));
}

Result<std::string> TextStream::finish() {
  if (is_over()) return std::string();
  const std::string rest = SLUICE_TRY(decoder_.finish());
  std::string shown = stops_.push(rest);
  return shown + stops_.flush();
}

}  // namespace sluice::generate
