#include "text/models/bpe.h"
#include "text/models/model.h"
#include "text/models/unigram.h"
#include "text/models/word_level.h"
#include "text/models/word_piece.h"

namespace sluice::text {
namespace {

/// Files of old versions do not say the kind.
Result<std::string_view> kind_of(const Field& field) {
  if (field.find("type")) return field.kind();
  if (field.find("merges")) return std::string_view("BPE");
  if (field.find("max_input_chars_per_word")) return std::string_view("WordPiece");
  const Field vocabulary = SLUICE_TRY(field.member("vocab"));
  return std::string_view(vocabulary.element().is_array() ? "Unigram" : "WordLevel");
}

}  // namespace

Result<std::unique_ptr<const Model>> read_model(const Field& field) {
  const std::string_view kind = SLUICE_TRY(kind_of(field));
  if (kind == "BPE") return read_bpe(field);
  if (kind == "Unigram") return read_unigram(field);
  if (kind == "WordPiece") return read_word_piece(field);
  if (kind == "WordLevel") return read_word_level(field);
  return field.unknown_kind(kind);
}

}  // namespace sluice::text
