#include "text/decoders/bytes.h"

#include <charconv>
#include <optional>

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
    unsigned byte = 0;
    const char* end = piece.data() + 5;
    const auto read = std::from_chars(piece.data() + 3, end, byte, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return static_cast<char>(byte);
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
