#include "text/models/unigram.h"

#include <algorithm>
#include <limits>

#include "text/models/read_vocabulary.h"
#include "text/unicode/characters.h"
#include "text/vocabulary/trie.h"

namespace sluice::text {
namespace {

/// How much worse than the worst piece an unknown character is (sentencepiece's kUnkPenalty).
constexpr double kUnknownPenalty = 10.0;

class Unigram : public Model {
 public:
  static Result<std::unique_ptr<const Model>> read(const Field& field);

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Status encode(std::string_view word, std::vector<TokenId>& ids) const override;

 private:
  /// The best way to a byte of the word.
  struct Node {
    TokenId id;  ///< of its last piece
    double score = 0;
    std::int32_t begin = -1;  ///< of its last piece; -1: no way
  };

  Status read_pieces(const Field& field);
  Status find_best(std::string_view word, std::vector<Node>& nodes) const;
  Status append(std::string_view piece, std::vector<TokenId>& ids) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  Trie pieces_;
  TokenId unknown_;
  double unknown_score_ = 0;
  std::vector<TokenId> byte_tokens_;  ///< for byte_fallback; empty without
};

Result<std::unique_ptr<const Model>> Unigram::read(const Field& field) {
  auto model = std::make_unique<Unigram>();
  SLUICE_TRY(model->read_pieces(SLUICE_TRY(field.member("vocab"))));
  if (const auto unknown = field.find("unk_id")) {
    const std::int64_t id = SLUICE_TRY(unknown->whole());
    if (id < 0 || id >= static_cast<std::int64_t>(model->scores_.size())) {
      return unknown->error("no piece has this id");
    }
    model->unknown_ = TokenId(static_cast<std::int32_t>(id));
  }
  if (SLUICE_TRY(field.truth_or("byte_fallback", false))) {
    model->byte_tokens_ = find_byte_tokens(model->vocabulary_);
  }
  return std::unique_ptr<const Model>(std::move(model));
}

Status Unigram::read_pieces(const Field& field) {
  simdjson::dom::array list;
  if (field.element().get(list)) return field.error("expected a list");
  double least = std::numeric_limits<double>::infinity();
  for (const simdjson::dom::element item : list) {
    simdjson::dom::array pair;
    std::string_view piece;
    double score = 0;
    if (item.get(pair) || pair.size() != 2 || pair.at(0).get(piece) || pair.at(1).get(score)) {
      return field.error(fmt::format("item {} is no piece with a score", scores_.size()));
    }
    const auto id = static_cast<std::int32_t>(scores_.size());
    SLUICE_TRY(vocabulary_.add(piece, id).with_context(field.path()));
    if (!piece.empty()) SLUICE_TRY(pieces_.add(piece, id).with_context(field.path()));
    scores_.push_back(score);
    least = std::min(least, score);
  }
  unknown_score_ = least - kUnknownPenalty;
  return ok_status();
}

/// Viterbi, from left to right. nodes[i]: the best way to byte i. The first found of equal ways
/// stays.
Status Unigram::find_best(std::string_view word, std::vector<Node>& nodes) const {
  nodes.assign(word.size() + 1, Node{});
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t behind = begin;
    next_character(word, behind);
    const double score = nodes[begin].score;
    const auto offer = [&](std::size_t end, TokenId id, double of) {
      Node& node = nodes[end];
      if (node.begin < 0 || score + of > node.score) {
        node = {id, score + of, static_cast<std::int32_t>(begin)};
      }
    };
    bool has_character = false;
    pieces_.for_each_prefix(word.substr(begin), [&](std::size_t bytes, std::int32_t id) {
      offer(begin + bytes, TokenId(id), scores_[static_cast<std::size_t>(id)]);
      has_character = has_character || begin + bytes == behind;
    });
    if (!has_character) {
      if (!unknown_.is_valid()) {
        return invalid_argument("the text has an unknown character, and the file no unk_id");
      }
      offer(behind, unknown_, unknown_score_);
    }
    begin = behind;
  }
  return ok_status();
}

/// A piece that came out as unknown, several of which are one.
Status Unigram::append(std::string_view piece, std::vector<TokenId>& ids) const {
  const TokenId known = vocabulary_.find(piece);
  if (known.is_valid()) {
    ids.push_back(known);
    return ok_status();
  }
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  if (!byte_tokens_.empty() &&
      std::ranges::all_of(piece, [&](char byte) { return token_of(byte).is_valid(); })) {
    for (const char byte : piece) ids.push_back(token_of(byte));
  } else {
    ids.push_back(unknown_);
  }
  return ok_status();
}

Status Unigram::encode(std::string_view word, std::vector<TokenId>& ids) const {
  std::vector<Node> nodes;
  SLUICE_TRY(find_best(word, nodes));
  std::vector<std::size_t> ends;
  for (std::size_t end = word.size(); end > 0;) {
    ends.push_back(end);
    end = static_cast<std::size_t>(nodes[end].begin);
  }
  std::ranges::reverse(ends);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto begin = static_cast<std::size_t>(nodes[ends[i]].begin);
    if (nodes[ends[i]].id != unknown_) {
      ids.push_back(nodes[ends[i]].id);
      continue;
    }
    while (i + 1 < ends.size() && nodes[ends[i + 1]].id == unknown_) ++i;
    SLUICE_TRY(append(word.substr(begin, ends[i] - begin), ids));
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<const Model>> read_unigram(const Field& field) {
  return Unigram::read(field);
}

}  // namespace sluice::text
