#include "text/decoders/bytes.h"

#include <optional>

#include "base/text/number.h"
#include "text/unicode/byte_characters.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

class ByteLevel : public Decoder {
 public:
  Status decode(std::vector<std::string>& pieces, Decoding& decoding) const override {
    std::string bytes;
    for (const std::string& piece : pieces) {
      if (!append_bytes_of_characters(bytes, piece)) bytes += piece;
    }
    pieces = {decoding.keeps_bytes ? bytes : replace_invalid_utf8(bytes)};
    return ok_status();
  }
};

class ByteFallback : public Decoder {
 public:
  Status decode(std::vector<std::string>& pieces, Decoding& decoding) const override {
    std::vector<std::string> decoded;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (decoding.keeps_bytes || check_utf8(bytes).is_ok()) {
        decoded.push_back(bytes);
      } else {
        decoded.insert(decoded.end(), bytes.size(), std::string(kReplacement));
      }
      bytes.clear();
    };
    for (std::string& piece : pieces) {
      if (const auto byte = byte_of(piece)) {
        bytes += *byte;
        continue;
      }
      flush();
      decoded.push_back(std::move(piece));
    }
    flush();
    pieces = std::move(decoded);
    return ok_status();
  }

 private:
  static std::optional<char> byte_of(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
    const auto byte = to_number<unsigned>(piece.substr(3, 2), 16);
    return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
  }
};

class Fuse : public Decoder {
 public:
  Status decode(std::vector<std::string>& pieces, Decoding& /*decoding*/) const override {
    std::string joined;
    for (const std::string& piece : pieces) joined += piece;
    pieces = {std::move(joined)};
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<const Decoder> make_byte_level_decoder() { return std::make_unique<ByteLevel>(); }
std::unique_ptr<const Decoder> make_byte_fallback() { return std::make_unique<ByteFallback>(); }
std::unique_ptr<const Decoder> make_fuse() { return std::make_unique<Fuse>(); }

}  // namespace sluice::text
