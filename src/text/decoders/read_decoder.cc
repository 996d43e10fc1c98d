#include "text/decoders/bytes.h"
#include "text/decoders/decoder.h"
#include "text/decoders/per_piece.h"

namespace sluice::text {
namespace {

class Sequence : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const Decoder>> parts) : parts_(std::move(parts)) {}

  Status decode(std::vector<std::string>& pieces, Decoding& decoding) const override {
    for (const auto& part : parts_) SLUICE_TRY(part->decode(pieces, decoding));
    return ok_status();
  }

 private:
  std::vector<std::unique_ptr<const Decoder>> parts_;
};

Result<std::unique_ptr<const Decoder>> read_sequence(const Field& field) {
  std::vector<std::unique_ptr<const Decoder>> parts;
  const Field list = SLUICE_TRY(field.member("decoders"));
  const auto items = SLUICE_TRY(list.items());
  for (const Field& part : items) parts.push_back(SLUICE_TRY(read_decoder(part)));
  return std::unique_ptr<const Decoder>(std::make_unique<Sequence>(std::move(parts)));
}

}  // namespace

Result<std::unique_ptr<const Decoder>> read_decoder(const Field& field) {
  const auto kind = SLUICE_TRY(field.kind());
  if (kind == "ByteLevel") return make_byte_level_decoder();
  if (kind == "ByteFallback") return make_byte_fallback();
  if (kind == "Fuse") return make_fuse();
  if (kind == "Metaspace") return read_metaspace_decoder(field);
  if (kind == "WordPiece") return read_word_piece_decoder(field);
  if (kind == "BPEDecoder") return read_bpe_decoder(field);
  if (kind == "Strip") return read_strip_decoder(field);
  if (kind == "Replace") return read_replace_decoder(field);
  if (kind == "Sequence") return read_sequence(field);
  return field.unknown_kind(kind);
}

}  // namespace sluice::text
