// The functions of sluice/generate.h for tokenizers.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/functions/snapshots.h"
#include "api/last_error.h"
#include "api/model.h"
#include "sluice/generate.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

struct sluice_tokenizer {
  sluice::text::Tokenizer tokenizer;
  sluice::Result<sluice::text::ChatTemplate> chat_template;  ///< or why there is none
};

namespace sluice::api {
namespace {

/// The public part points into the same object, so one release frees both.
struct TextPart {
  std::string text;
  sluice_string public_part = {};
};

struct TokensPart {
  std::vector<std::int64_t> ids;
  sluice_tokens public_part = {};
};

void give_text(std::string text, const sluice_string** to) {
  auto part = std::make_shared<TextPart>();
  part->text = std::move(text);
  part->public_part = {part->text.c_str(), part->text.size()};
  give_snapshot(std::move(part), to);
}

Status check_flags(std::uint32_t flags, std::uint32_t known) {
  // An unknown flag is an error: a newer program must not get what it did not ask for.
  if ((flags & ~known) == 0) return ok_status();
  return invalid_argument("flags {} are not among SLUICE_TOKENS_ of this call", flags);
}

Status encode(const sluice_tokenizer& from, std::string_view text, std::uint32_t flags,
              const sluice_tokens** tokens) {
  SLUICE_TRY(check_flags(flags, SLUICE_TOKENS_PLAIN | SLUICE_TOKENS_LITERAL));
  const text::EncodeOptions options = {
      .adds_special_tokens = (flags & SLUICE_TOKENS_PLAIN) == 0,
      .finds_special_tokens = (flags & SLUICE_TOKENS_LITERAL) == 0};
  auto part = std::make_shared<TokensPart>();
  const auto ids = SLUICE_TRY(from.tokenizer.encode(text, options));
  for (const text::TokenId id : ids) part->ids.push_back(id.value());
  part->public_part = {part->ids.size(), part->ids.data()};
  give_snapshot(std::move(part), tokens);
  return ok_status();
}

/// Not valid for numbers that no file gives to a token.
text::TokenId token_of(std::int64_t id) {
  return id >= 0 && id < text::kMaxTokenId ? text::TokenId(static_cast<std::int32_t>(id))
                                           : text::TokenId();
}

Result<std::string> decode(const sluice_tokenizer& from, const std::int64_t* ids, std::size_t count,
                           std::uint32_t flags) {
  SLUICE_TRY(check_flags(flags, SLUICE_TOKENS_PLAIN));
  std::vector<text::TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    const text::TokenId token = token_of(ids[i]);
    // Models may have more rows of logits than tokens; such an id decodes to nothing.
    if (token.is_valid()) tokens.push_back(token);
  }
  const bool skips = (flags & SLUICE_TOKENS_PLAIN) == 0;
  return from.tokenizer.decode(tokens, {.skips_special_tokens = skips});
}

}  // namespace
}  // namespace sluice::api

using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_tokenizer_create(const sluice_model* model, sluice_tokenizer** tokenizer) {
  return guard([&]() -> sluice::Status {
    if (tokenizer == nullptr) return null_argument("tokenizer");
    *tokenizer = nullptr;
    if (model == nullptr) return null_argument("model");
    auto read = SLUICE_TRY(model->open->language->tokenizer());
    *tokenizer = new sluice_tokenizer{std::move(read), model->open->language->chat_template()};
    return sluice::ok_status();
  });
}

void sluice_tokenizer_free(sluice_tokenizer* tokenizer) { delete tokenizer; }

size_t sluice_tokenizer_vocabulary_size(const sluice_tokenizer* tokenizer) {
  return tokenizer == nullptr ? 0 : tokenizer->tokenizer.vocabulary_size();
}

int64_t sluice_tokenizer_find(const sluice_tokenizer* tokenizer, const char* piece) {
  if (tokenizer == nullptr || piece == nullptr) return -1;
  const sluice::text::TokenId id = tokenizer->tokenizer.find_token(piece);
  return id.is_valid() ? id.value() : -1;
}

int32_t sluice_tokenizer_piece(const sluice_tokenizer* tokenizer, int64_t id,
                               const sluice_string** piece) {
  return guard([&]() -> sluice::Status {
    if (tokenizer == nullptr || piece == nullptr) return null_argument("tokenizer or piece");
    *piece = nullptr;
    const sluice::text::TokenId token = sluice::api::token_of(id);
    const auto found = token.is_valid() ? tokenizer->tokenizer.find_piece(token) : std::nullopt;
    if (!found) return sluice::make_error(sluice::Code::kNotFound, "no token has the id {}", id);
    sluice::api::give_text(std::string(*found), piece);
    return sluice::ok_status();
  });
}

int32_t sluice_tokenizer_encode(const sluice_tokenizer* tokenizer, const char* text,
                                size_t size_bytes, uint32_t flags, const sluice_tokens** tokens) {
  return guard([&]() -> sluice::Status {
    if (tokenizer == nullptr || tokens == nullptr) return null_argument("tokenizer or tokens");
    *tokens = nullptr;
    if (text == nullptr && size_bytes > 0) return null_argument("text");
    return sluice::api::encode(*tokenizer, std::string_view(text, size_bytes), flags, tokens);
  });
}

int32_t sluice_tokenizer_decode(const sluice_tokenizer* tokenizer, const int64_t* ids,
                                size_t num_ids, uint32_t flags, const sluice_string** text) {
  return guard([&]() -> sluice::Status {
    if (tokenizer == nullptr || text == nullptr) return null_argument("tokenizer or text");
    *text = nullptr;
    if (ids == nullptr && num_ids > 0) return null_argument("ids");
    auto decoded = SLUICE_TRY(sluice::api::decode(*tokenizer, ids, num_ids, flags));
    sluice::api::give_text(std::move(decoded), text);
    return sluice::ok_status();
  });
}

int32_t sluice_tokenizer_apply_chat_template(const sluice_tokenizer* tokenizer, const char* chat,
                                             const sluice_string** text) {
  return guard([&]() -> sluice::Status {
    if (tokenizer == nullptr || text == nullptr) return null_argument("tokenizer or text");
    *text = nullptr;
    if (chat == nullptr) return null_argument("chat");
    const auto& chat_template = tokenizer->chat_template;
    if (!chat_template.is_ok()) return chat_template.status();
    const auto parsed = SLUICE_TRY(sluice::text::parse_chat(chat));
    auto rendered = SLUICE_TRY(chat_template->render(parsed));
    sluice::api::give_text(std::move(rendered), text);
    return sluice::ok_status();
  });
}
