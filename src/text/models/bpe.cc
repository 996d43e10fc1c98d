// A word of a text is mostly one token. Whether merges lead from a word's characters to the token
// that spells it does not change, so it is found once for a token and remembered: `shortcut_` is a
// cache, written by any thread with the one value that any other would write.
#include "text/models/bpe.h"

#include <array>
#include <atomic>
#include <string>

#include "text/models/merge_word.h"
#include "text/models/read_vocabulary.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

enum class Shortcut : std::uint8_t { kUnknown, kTaken, kRefused };

/// Characters whose tokens are found by index. ByteLevel's lie below.
constexpr std::size_t kNumDirect = 0x180;

class Bpe : public Model {
 public:
  static Result<std::unique_ptr<const Model>> read(const Field& field);

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Status encode(std::string_view word, std::vector<TokenId>& ids) const override;

 private:
  Status read_merges(const Field& field);
  Status add_merge(std::string_view left, std::string_view right, std::uint32_t rank);
  void find_characters();

  std::string decorate(std::string_view character, bool is_first, bool is_last) const;
  TokenId find_character(std::string_view character, bool is_first, bool is_last) const;
  bool append_bytes(std::string_view character, bool is_first, bool is_last,
                    std::vector<TokenId>& symbols) const;
  Status append_characters(std::string_view word, std::vector<TokenId>& symbols) const;

  Vocabulary vocabulary_;
  Merges merges_;
  std::string prefix_;  ///< of characters that do not begin a word
  std::string suffix_;  ///< of the last character
  TokenId unknown_;
  std::string unknown_piece_;
  bool fuses_unknown_ = false;
  bool ignores_merges_ = false;
  std::vector<TokenId> byte_tokens_;  ///< for byte_fallback; empty without
  std::array<TokenId, kNumDirect> direct_;
  std::unique_ptr<std::atomic<Shortcut>[]> shortcut_;
};

Result<std::unique_ptr<const Model>> Bpe::read(const Field& field) {
  auto model = std::make_unique<Bpe>();
  // Dropout leaves out merges at random, for training. 0 and an absent one are the same.
  if (const auto dropout = field.find("dropout")) {
    if (SLUICE_TRY(dropout->number()) != 0) {
      return unimplemented("{}: dropout makes tokens random", dropout->path());
    }
  }
  model->vocabulary_ = SLUICE_TRY(read_vocabulary(SLUICE_TRY(field.member("vocab"))));
  model->prefix_ = SLUICE_TRY(field.text_or_none("continuing_subword_prefix"));
  model->suffix_ = SLUICE_TRY(field.text_or_none("end_of_word_suffix"));
  model->unknown_piece_ = SLUICE_TRY(field.text_or_none("unk_token"));
  model->unknown_ = model->vocabulary_.find(model->unknown_piece_);
  model->fuses_unknown_ = SLUICE_TRY(field.truth_or("fuse_unk", false));
  model->ignores_merges_ = SLUICE_TRY(field.truth_or("ignore_merges", false));
  if (SLUICE_TRY(field.truth_or("byte_fallback", false))) {
    model->byte_tokens_ = find_byte_tokens(model->vocabulary_);
  }
  SLUICE_TRY(model->read_merges(SLUICE_TRY(field.member("merges"))));
  model->find_characters();
  model->shortcut_ = std::make_unique<std::atomic<Shortcut>[]>(model->vocabulary_.end_id());
  return std::unique_ptr<const Model>(std::move(model));
}

Status Bpe::read_merges(const Field& field) {
  simdjson::dom::array list;
  if (field.element().get(list)) return field.error("expected a list");
  merges_.reserve(list.size());
  std::uint32_t rank = 0;
  for (const simdjson::dom::element item : list) {
    std::string_view left;
    std::string_view right;
    simdjson::dom::array pair;
    if (!item.get(pair)) {
      if (pair.size() != 2 || pair.at(0).get(left) || pair.at(1).get(right)) {
        return field.error(fmt::format("merge {} is no pair of texts", rank));
      }
    } else {
      std::string_view both;
      const bool is_text = !item.get(both);
      if (is_text && both.starts_with("#version")) continue;
      const std::size_t space = both.find(' ');
      if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
        return field.error(fmt::format("merge {} is no pair of texts", rank));
      }
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
    SLUICE_TRY(add_merge(left, right, rank).with_context(field.path()));
    ++rank;
  }
  return ok_status();
}

Status Bpe::add_merge(std::string_view left, std::string_view right, std::uint32_t rank) {
  const auto find = [&](std::string_view piece) -> Result<TokenId> {
    const TokenId id = vocabulary_.find(piece);
    if (!id.is_valid()) {
      return invalid_argument("merge {}: \"{}\" is not in the vocabulary", rank, piece);
    }
    return id;
  };
  const TokenId first = SLUICE_TRY(find(left));
  const TokenId second = SLUICE_TRY(find(right));
  if (right.size() < prefix_.size()) {
    return invalid_argument("merge {}: \"{}\" does not begin with the prefix \"{}\"", rank, right,
                            prefix_);
  }
  std::string whole(left);
  whole += right.substr(prefix_.size());
  const TokenId result = SLUICE_TRY(find(whole));
  merges_[Merges::key(static_cast<std::uint32_t>(first.value()),
                      static_cast<std::uint32_t>(second.value()))] = {rank, result};
  return ok_status();
}

void Bpe::find_characters() {
  for (std::size_t c = 0; c < kNumDirect; ++c) {
    std::string character;
    append_character(character, static_cast<char32_t>(c));
    direct_[c] = vocabulary_.find(character);
  }
}

std::string Bpe::decorate(std::string_view character, bool is_first, bool is_last) const {
  std::string decorated = is_first ? std::string() : prefix_;
  decorated += character;
  if (is_last) decorated += suffix_;
  return decorated;
}

TokenId Bpe::find_character(std::string_view character, bool is_first, bool is_last) const {
  if ((!is_first && !prefix_.empty()) || (is_last && !suffix_.empty())) {
    return vocabulary_.find(decorate(character, is_first, is_last));
  }
  std::size_t at = 0;
  const char32_t c = next_character(character, at);
  return c < kNumDirect ? direct_[c] : vocabulary_.find(character);
}

/// False if a byte has no token, or the model does not fall back to bytes.
bool Bpe::append_bytes(std::string_view character, bool is_first, bool is_last,
                       std::vector<TokenId>& symbols) const {
  if (byte_tokens_.empty()) return false;
  const std::string bytes = decorate(character, is_first, is_last);
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  for (const char byte : bytes) {
    if (!token_of(byte).is_valid()) return false;
  }
  for (const char byte : bytes) symbols.push_back(token_of(byte));
  return true;
}

/// What stands for one character: its token, the tokens of its bytes, or the unknown token. The
/// unknown token comes behind the bytes of characters that follow it, as in the reference.
Status Bpe::append_characters(std::string_view word, std::vector<TokenId>& symbols) const {
  bool has_unknown = false;
  const auto flush = [&] {
    if (has_unknown) symbols.push_back(unknown_);
    has_unknown = false;
  };
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t begin = at;
    next_character(word, at);
    const std::string_view character = word.substr(begin, at - begin);
    const bool is_first = begin == 0;
    const bool is_last = at == word.size();
    const TokenId id = find_character(character, is_first, is_last);
    if (id.is_valid()) {
      flush();
      symbols.push_back(id);
      continue;
    }
    if (append_bytes(character, is_first, is_last, symbols)) continue;
    if (unknown_piece_.empty()) continue;
    if (!unknown_.is_valid()) {
      return invalid_argument("the unknown token \"{}\" is not in the vocabulary", unknown_piece_);
    }
    if (!fuses_unknown_) flush();
    has_unknown = true;
  }
  flush();
  return ok_status();
}

Status Bpe::encode(std::string_view word, std::vector<TokenId>& ids) const {
  TokenId whole;
  if (ignores_merges_ || (prefix_.empty() && suffix_.empty())) whole = vocabulary_.find(word);
  std::atomic<Shortcut>* shortcut = nullptr;
  if (whole.is_valid()) {
    shortcut = &shortcut_[whole.index()];
    if (ignores_merges_ || shortcut->load(std::memory_order_relaxed) == Shortcut::kTaken) {
      ids.push_back(whole);
      return ok_status();
    }
  }
  std::vector<TokenId> symbols;
  SLUICE_TRY(append_characters(word, symbols));
  merge_word(merges_, symbols);
  if (shortcut != nullptr) {
    const bool is_whole = symbols.size() == 1 && symbols[0] == whole;
    shortcut->store(is_whole ? Shortcut::kTaken : Shortcut::kRefused, std::memory_order_relaxed);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<const Model>> read_bpe(const Field& field) { return Bpe::read(field); }

}  // namespace sluice::text
