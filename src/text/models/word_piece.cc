#include "text/models/word_piece.h"

#include "text/models/read_vocabulary.h"
#include "text/unicode/characters.h"
#include "text/vocabulary/trie.h"

namespace sluice::text {
namespace {

class WordPiece : public Model {
 public:
  static Result<std::unique_ptr<const Model>> read(const Field& field);

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Status encode(std::string_view word, std::vector<TokenId>& ids) const override;

 private:
  bool append_pieces(std::string_view word, std::vector<TokenId>& ids) const;
  bool is_too_long(std::string_view word) const;

  Vocabulary vocabulary_;
  Trie first_;       ///< pieces that begin a word
  Trie continuing_;  ///< those that do not, without their prefix
  std::string unknown_;
  std::int64_t max_characters_ = 0;
};

Result<std::unique_ptr<const Model>> WordPiece::read(const Field& field) {
  auto model = std::make_unique<WordPiece>();
  model->vocabulary_ = SLUICE_TRY(read_vocabulary(SLUICE_TRY(field.member("vocab"))));
  model->unknown_ = SLUICE_TRY(field.text_of("unk_token"));
  model->max_characters_ = SLUICE_TRY(field.whole_or("max_input_chars_per_word", 100));
  const std::string prefix(SLUICE_TRY(field.text_or_none("continuing_subword_prefix")));
  for (std::size_t i = 0; i < model->vocabulary_.end_id(); ++i) {
    const auto piece = model->vocabulary_.piece(TokenId(i));
    if (!piece || piece->empty()) continue;
    SLUICE_TRY(model->first_.add(*piece, static_cast<std::int32_t>(i)));
    if (piece->starts_with(prefix) && piece->size() > prefix.size()) {
      SLUICE_TRY(
          model->continuing_.add(piece->substr(prefix.size()), static_cast<std::int32_t>(i)));
    }
  }
  return std::unique_ptr<const Model>(std::move(model));
}

bool WordPiece::is_too_long(std::string_view word) const {
  std::int64_t characters = 0;
  for (std::size_t at = 0; at < word.size() && characters <= max_characters_; ++characters) {
    next_character(word, at);
  }
  return characters > max_characters_;
}

/// False if a part of the word is no piece; then `ids` has tokens that do not count.
bool WordPiece::append_pieces(std::string_view word, std::vector<TokenId>& ids) const {
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t longest = 0;
    TokenId id;
    const Trie& trie = begin == 0 ? first_ : continuing_;
    trie.for_each_prefix(word.substr(begin), [&](std::size_t bytes, std::int32_t value) {
      longest = bytes;
      id = TokenId(value);
    });
    if (!id.is_valid()) return false;
    ids.push_back(id);
    begin += longest;
  }
  return true;
}

Status WordPiece::encode(std::string_view word, std::vector<TokenId>& ids) const {
  const std::size_t size = ids.size();
  if (!is_too_long(word) && append_pieces(word, ids)) return ok_status();
  ids.resize(size);
  const TokenId unknown = vocabulary_.find(unknown_);
  if (!unknown.is_valid()) {
    return invalid_argument("the unknown token \"{}\" is not in the vocabulary", unknown_);
  }
  ids.push_back(unknown);
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<const Model>> read_word_piece(const Field& field) {
  return WordPiece::read(field);
}

}  // namespace sluice::text
