// A text goes through a line: given added tokens cut it, a normalizer changes what lies between,
// added tokens in normalized form cut that, pre-tokenizers make words, the model makes tokens of
// each word.
#include "text/tokenizer.h"

#include <algorithm>

#include "text/added_tokens.h"
#include "text/decoders/decoder.h"
#include "text/json/field.h"
#include "text/models/model.h"
#include "text/normalizers/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

/// A text without a space takes up to 60 bytes of memory for each of its own.
constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;

}  // namespace

struct Tokenizer::Parts {
  std::unique_ptr<const Normalizer> normalizer;       // null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<const Model> model;
  std::unique_ptr<const Decoder> decoder;  // null: none
  PostProcessor post_processor;
  AddedTokens added;

  Status read(const Field& root);
  Status normalize(std::string& text, RegexBudget& budget) const {
    return normalizer == nullptr ? ok_status() : normalizer->normalize(text, budget);
  }
  Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options) const;
  Result<bool> keeps_first(std::string_view text, RegexBudget& budget) const;
  Status encode_given(std::string_view text, bool is_at_start, const EncodeOptions& options,
                      RegexBudget& budget, std::vector<TokenId>& ids) const;
  Status encode_normalized(std::string text, bool is_at_start, RegexBudget& budget,
                           std::vector<TokenId>& ids) const;
  std::optional<std::string_view> piece_to_decode(TokenId id, const DecodeOptions& options) const;
};

Status Tokenizer::Parts::read(const Field& root) {
  if (const auto field = root.find("normalizer")) normalizer = SLUICE_TRY(read_normalizer(*field));
  if (const auto field = root.find("pre_tokenizer")) {
    pre_tokenizer = SLUICE_TRY(read_pre_tokenizer(*field));
  }
  const Field model_field = SLUICE_TRY(root.member("model"));
  model = SLUICE_TRY(read_model(model_field));
  if (const auto field = root.find("post_processor")) {
    post_processor = SLUICE_TRY(PostProcessor::read(*field));
  }
  if (const auto field = root.find("decoder")) decoder = SLUICE_TRY(read_decoder(*field));
  if (const auto field = root.find("added_tokens")) {
    const auto normalize_token = [this](std::string& text) {
      RegexBudget budget(text.size());
      return normalize(text, budget);
    };
    added = SLUICE_TRY(AddedTokens::read(*field, model->vocabulary(), normalize_token));
  }
  return ok_status();
}

Result<std::vector<TokenId>> Tokenizer::Parts::encode(std::string_view text,
                                                      const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return invalid_argument("a text of {} bytes; at most {} are encoded", text.size(),
                            kMaxTextBytes);
  }
  SLUICE_TRY(check_utf8(text));
  RegexBudget budget(text.size());
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4);
  for (const Stretch& stretch : added.find(text, false, options.finds_special_tokens)) {
    if (stretch.token.is_valid()) {
      ids.push_back(stretch.token);
      continue;
    }
    const std::string_view between = text.substr(stretch.begin, stretch.end - stretch.begin);
    SLUICE_TRY(encode_given(between, stretch.begin == 0, options, budget, ids));
  }
  return ids;
}

/// Whether something of the first character is left. If not, what is left begins behind the start
/// of the text, which Metaspace asks for.
Result<bool> Tokenizer::Parts::keeps_first(std::string_view text, RegexBudget& budget) const {
  if (normalizer == nullptr || text.empty()) return true;
  std::size_t end = 0;
  next_character(text, end);
  std::string first(text.substr(0, end));
  SLUICE_TRY(normalize(first, budget));
  return !first.empty();
}

Status Tokenizer::Parts::encode_given(std::string_view text, bool is_at_start,
                                      const EncodeOptions& options, RegexBudget& budget,
                                      std::vector<TokenId>& ids) const {
  if (is_at_start) is_at_start = SLUICE_TRY(keeps_first(text, budget));
  std::string normalized(text);
  SLUICE_TRY(normalize(normalized, budget));
  const auto stretches = added.find(normalized, true, options.finds_special_tokens);
  for (const Stretch& stretch : stretches) {
    if (stretch.token.is_valid()) {
      ids.push_back(stretch.token);
      continue;
    }
    std::string part = normalized.substr(stretch.begin, stretch.end - stretch.begin);
    const bool is_first = is_at_start && stretch.begin == 0;
    SLUICE_TRY(encode_normalized(std::move(part), is_first, budget, ids));
  }
  return ok_status();
}

Status Tokenizer::Parts::encode_normalized(std::string text, bool is_at_start, RegexBudget& budget,
                                           std::vector<TokenId>& ids) const {
  Pieces pieces{std::move(text), {}, is_at_start};
  pieces.spans.push_back({0, pieces.text.size()});
  if (pre_tokenizer != nullptr) SLUICE_TRY(pre_tokenizer->split(pieces, budget));
  for (const Match& span : pieces.spans) SLUICE_TRY(model->encode(pieces.piece(span), ids));
  return ok_status();
}

std::optional<std::string_view> Tokenizer::Parts::piece_to_decode(
    TokenId id, const DecodeOptions& options) const {
  if (const AddedToken* token = added.find_id(id)) {
    if (token->is_special && options.skips_special_tokens) return std::nullopt;
    return token->normalized;
  }
  return model->vocabulary().piece(id);
}

Tokenizer::Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Result<Tokenizer> Tokenizer::read(std::string_view json) {
  const JsonDocument document = SLUICE_TRY(JsonDocument::parse(json));
  auto parts = std::make_shared<Parts>();
  SLUICE_TRY(parts->read(document.root()));
  return Tokenizer(std::move(parts));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  Encoding encoding = SLUICE_TRY(encode_pair(text, nullptr, options));
  return std::move(encoding.ids);
}

Result<Encoding> Tokenizer::encode_pair(std::string_view first, const std::string_view* second,
                                        const EncodeOptions& options) const {
  const auto first_ids = SLUICE_TRY(read_tokens(first, options));
  std::vector<TokenId> second_ids;
  if (second != nullptr) second_ids = SLUICE_TRY(read_tokens(*second, options));
  return join(first_ids, second == nullptr ? nullptr : &second_ids, options);
}

Result<std::vector<TokenId>> Tokenizer::read_tokens(std::string_view text,
                                                    const EncodeOptions& options) const {
  return parts_->encode(text, options);
}

Encoding Tokenizer::join(const std::vector<TokenId>& first, const std::vector<TokenId>* second,
                         const EncodeOptions& options) const {
  return parts_->post_processor.join(first, second, options.adds_special_tokens);
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids,
                                      const DecodeOptions& options) const {
  std::vector<std::string> pieces;
  std::size_t bytes = 0;
  for (const TokenId id : ids) {
    const auto piece = parts_->piece_to_decode(id, options);
    if (!piece) continue;
    pieces.emplace_back(*piece);
    bytes += piece->size();
  }
  Decoding decoding{RegexBudget(bytes), options.keeps_bytes};
  if (parts_->decoder != nullptr) SLUICE_TRY(parts_->decoder->decode(pieces, decoding));
  std::string text;
  for (const std::string& piece : pieces) {
    if (parts_->decoder == nullptr && &piece != &pieces.front()) text += ' ';
    text += piece;
  }
  return text;
}

std::size_t Tokenizer::vocabulary_size() const {
  std::size_t size = parts_->model->vocabulary().size();
  for (std::size_t i = 0; i < parts_->added.end_id(); ++i) {
    const TokenId id(i);
    if (parts_->added.find_id(id) != nullptr && !parts_->model->vocabulary().piece(id)) ++size;
  }
  return size;
}

std::size_t Tokenizer::end_id() const {
  return std::max(parts_->model->vocabulary().end_id(), parts_->added.end_id());
}

TokenId Tokenizer::find_token(std::string_view piece) const {
  if (const AddedToken* token = parts_->added.find_content(piece)) return token->id;
  return parts_->model->vocabulary().find(piece);
}

std::optional<std::string_view> Tokenizer::find_piece(TokenId id) const {
  if (const AddedToken* token = parts_->added.find_id(id)) return token->content;
  return parts_->model->vocabulary().piece(id);
}

bool Tokenizer::is_special(TokenId id) const {
  const AddedToken* token = parts_->added.find_id(id);
  return token != nullptr && token->is_special;
}

}  // namespace sluice::text
