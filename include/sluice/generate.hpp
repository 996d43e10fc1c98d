// Language models in C++: a header-only layer over `sluice/generate.h`.
//
//   auto model = sluice::Model::open("model.sluice");   // of `sluice compile FOLDER`
//   auto generator = sluice::Generator::create(*model);
//   if (auto error = generator->start({.prompt = "Once upon a time"})) return fail(*error);
//   while (true) {
//     auto piece = generator->next();
//     if (!piece) return fail(piece.error());
//     if (!*piece) break;                               // generator->finish() says why
//     std::cout << (*piece)->text << std::flush;
//   }
//
// Errors are values; no function of this header throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/generate.h"
#include "sluice/sluice.hpp"

namespace sluice {

namespace detail {
/// Takes what the library gave.
inline std::string taken(const sluice_string* given) {
  std::string text(given->data, given->size_bytes);
  sluice_release(given);
  return text;
}

/// In C a text ends with its first NUL.
inline std::optional<Error> check_text(std::string_view text) {
  if (text.find('\0') == std::string_view::npos) return std::nullopt;
  return Error{Code::kInvalidArgument, "a text has a NUL character; leave it out"};
}
inline std::optional<Error> check_texts(std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    if (auto error = check_text(text)) return error;
  }
  return std::nullopt;
}
inline std::vector<const char*> views_of(std::span<const std::string> texts) {
  std::vector<const char*> views;
  views.reserve(texts.size());
  for (const std::string& text : texts) views.push_back(text.c_str());
  return views;
}
}  // namespace detail

/// Text to tokens and back, and chats as a model reads them. Movable and immutable; usable from any
/// thread, also after the model is closed.
class Tokenizer {
 public:
  /// Reads the tokenizer of the model. Fails: as sluice_tokenizer_create.
  static Expected<Tokenizer> create(const Model& model) {
    sluice_tokenizer* handle = nullptr;
    if (auto error = detail::check(sluice_tokenizer_create(model.get(), &handle))) return *error;
    return Tokenizer(handle);
  }

  /// The tokens of a text. `flags`: SLUICE_TOKENS_. Fails: as sluice_tokenizer_encode.
  Expected<std::vector<std::int64_t>> encode(std::string_view text, std::uint32_t flags = 0) const {
    const sluice_tokens* tokens = nullptr;
    if (auto error = detail::check(
            sluice_tokenizer_encode(handle_.get(), text.data(), text.size(), flags, &tokens))) {
      return *error;
    }
    std::vector<std::int64_t> ids(tokens->ids, tokens->ids + tokens->num_ids);
    sluice_release(tokens);
    return ids;
  }
  /// What tokens say. `flags`: SLUICE_TOKENS_PLAIN keeps special ones.
  Expected<std::string> decode(std::span<const std::int64_t> ids, std::uint32_t flags = 0) const {
    const sluice_string* text = nullptr;
    if (auto error = detail::check(
            sluice_tokenizer_decode(handle_.get(), ids.data(), ids.size(), flags, &text))) {
      return *error;
    }
    return detail::taken(text);
  }
  /// A chat, a text of JSON, as the model reads it. Fails: as sluice_tokenizer_apply_chat_template;
  /// INVALID_ARGUMENT for a NUL.
  Expected<std::string> apply_chat_template(const std::string& chat) const {
    if (auto error = detail::check_text(chat)) return *error;
    const sluice_string* text = nullptr;
    if (auto error = detail::check(
            sluice_tokenizer_apply_chat_template(handle_.get(), chat.c_str(), &text))) {
      return *error;
    }
    return detail::taken(text);
  }

  /// Number of tokens, added ones included.
  std::size_t vocabulary_size() const { return sluice_tokenizer_vocabulary_size(handle_.get()); }
  /// The id of a token as tokenizer.json spells it.
  std::optional<std::int64_t> find(const std::string& piece) const {
    if (detail::check_text(piece)) return std::nullopt;
    const std::int64_t id = sluice_tokenizer_find(handle_.get(), piece.c_str());
    return id < 0 ? std::nullopt : std::optional(id);
  }
  /// How tokenizer.json spells a token. Fails: NOT_FOUND.
  Expected<std::string> piece(std::int64_t id) const {
    const sluice_string* text = nullptr;
    if (auto error = detail::check(sluice_tokenizer_piece(handle_.get(), id, &text))) return *error;
    return detail::taken(text);
  }

 private:
  explicit Tokenizer(sluice_tokenizer* handle) : handle_(handle) {}
  std::unique_ptr<sluice_tokenizer, detail::Deleter<sluice_tokenizer, sluice_tokenizer_free>>
      handle_;
};

/// What to generate. One of `prompt`, `ids` and `chat` is the prompt. What is absent the model's
/// authors advise; sluice/generate.h says what each does.
struct GenerateRequest {
  std::string prompt = {};
  std::vector<std::int64_t> ids = {};  ///< tokens of the prompt
  std::string chat = {};               ///< as for Tokenizer::apply_chat_template
  std::optional<std::int64_t> max_tokens = {};
  std::optional<float> temperature = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<float> repetition_penalty = {};
  std::optional<float> presence_penalty = {};
  std::optional<float> frequency_penalty = {};
  std::vector<sluice_logit_bias> logit_bias = {};
  std::vector<std::string> bad_words = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::int64_t> top_logprobs = {};
  std::vector<std::string> stops = {};      ///< texts that end the text
  std::vector<std::int64_t> stop_ids = {};  ///< tokens that end it besides the model's
  std::function<bool()> is_stopped = {};    ///< true ends it at once; must not throw
  std::string schema = {};                  ///< a JSON schema that the text fits
  std::string grammar = {};                 ///< or a grammar in GBNF
  std::string adapter = {};                 ///< of the model's; empty: the model alone
};

/// Why a text ended.
enum class Finish : std::int32_t {
  kNone = SLUICE_FINISH_NONE,  ///< it goes on
  kStop = SLUICE_FINISH_STOP,
  kTokens = SLUICE_FINISH_TOKENS,
  kContext = SLUICE_FINISH_CONTEXT,
  kCancelled = SLUICE_FINISH_CANCELLED,
};

/// How likely the model found a token, and the likeliest ones in order.
struct Logprobs {
  float chosen = 0;
  std::vector<sluice_token_logprob> top;
};

/// Part of a text, for each token of it.
struct Piece {
  std::string text;                   ///< whole characters; empty within one
  std::optional<std::int64_t> token;  ///< none: the end of the text, held back until now
  std::optional<Logprobs> logprobs;   ///< for a request with `top_logprobs`
};

/// Writes a text at a time. Movable. Use it from one thread at a time. Several generators of one
/// model run in parallel. Keeps its model alive.
class Generator {
 public:
  /// Fails: as sluice_generator_create.
  static Expected<Generator> create(const Model& model) {
    sluice_generator* handle = nullptr;
    if (auto error = detail::check(sluice_generator_create(model.get(), &handle))) return *error;
    return Generator(handle);
  }

  /// The most tokens of a text, its prompt included.
  std::int64_t context() const { return sluice_generator_context(handle_.get()); }

  /// Begins a text and ends the former one; computes nothing yet.
  /// Fails: as sluice_generator_start; INVALID_ARGUMENT for a text with a NUL.
  [[nodiscard]] std::optional<Error> start(GenerateRequest request) {
    for (const std::string* text :
         {&request.chat, &request.schema, &request.grammar, &request.adapter}) {
      if (auto error = detail::check_text(*text)) return error;
    }
    if (auto error = detail::check_texts(request.stops)) return error;
    if (auto error = detail::check_texts(request.bad_words)) return error;
    sluice_generate_request given = view_of(request);
    const std::vector<const char*> stops = detail::views_of(request.stops);
    given.stops = stops.data();
    given.num_stops = stops.size();
    const std::vector<const char*> bad_words = detail::views_of(request.bad_words);
    given.bad_words = bad_words.data();
    given.num_bad_words = bad_words.size();
    std::unique_ptr<std::function<bool()>> is_stopped;
    if (request.is_stopped) {
      is_stopped = std::make_unique<std::function<bool()>>(std::move(request.is_stopped));
      given.user_data = is_stopped.get();
      given.is_stopped = [](void* user_data) -> std::int32_t {
        return (*static_cast<std::function<bool()>*>(user_data))() ? 1 : 0;
      };
    }
    auto error = detail::check(sluice_generator_start(handle_.get(), &given));
    if (!error) is_stopped_ = std::move(is_stopped);
    return error;
  }

  /// The next piece; nullopt at the end of the text. Blocks. Fails: as sluice_generator_next.
  Expected<std::optional<Piece>> next() {
    const sluice_piece* piece = nullptr;
    if (auto error = detail::check(sluice_generator_next(handle_.get(), &piece))) return *error;
    if (piece == nullptr) return std::optional<Piece>();
    const auto token = piece->token < 0 ? std::nullopt : std::optional(piece->token);
    Piece made = {{piece->text, piece->size_bytes}, token, std::nullopt};
    if (piece->has_logprobs != 0) {
      made.logprobs = Logprobs{piece->logprob, {piece->top, piece->top + piece->num_top}};
    }
    return std::optional(std::move(made));
  }

  Finish finish() const { return static_cast<Finish>(sluice_generator_finish(handle_.get())); }
  std::int64_t num_prompt_tokens() const {
    return sluice_generator_num_prompt_tokens(handle_.get());
  }
  /// Tokens of the text so far.
  std::int64_t num_tokens() const { return sluice_generator_num_tokens(handle_.get()); }

 private:
  explicit Generator(sluice_generator* handle) : handle_(handle) {}

  /// Borrows the request.
  static sluice_generate_request view_of(const GenerateRequest& request) {
    sluice_generate_request given = {};
    given.struct_size = sizeof(given);
    const bool has_others = !request.ids.empty() || !request.chat.empty();
    if (!request.prompt.empty() || !has_others) given.prompt = request.prompt.c_str();
    given.prompt_bytes = request.prompt.size();
    if (!request.ids.empty()) given.ids = request.ids.data();
    given.num_ids = request.ids.size();
    if (!request.chat.empty()) given.chat = request.chat.c_str();
    if (!request.schema.empty()) given.schema = request.schema.c_str();
    if (!request.grammar.empty()) given.grammar = request.grammar.c_str();
    if (!request.adapter.empty()) given.adapter = request.adapter.c_str();
    given.stop_ids = request.stop_ids.data();
    given.num_stop_ids = request.stop_ids.size();
    given.logit_bias = request.logit_bias.data();
    given.num_logit_bias = request.logit_bias.size();
    const auto give = [&](const auto& wanted, auto& field, std::uint32_t flag) {
      if (!wanted) return;
      field = *wanted;
      given.given |= flag;
    };
    give(request.max_tokens, given.max_tokens, SLUICE_GIVEN_MAX_TOKENS);
    give(request.top_logprobs, given.top_logprobs, SLUICE_GIVEN_TOP_LOGPROBS);
    give(request.temperature, given.temperature, SLUICE_GIVEN_TEMPERATURE);
    give(request.top_k, given.top_k, SLUICE_GIVEN_TOP_K);
    give(request.top_p, given.top_p, SLUICE_GIVEN_TOP_P);
    give(request.min_p, given.min_p, SLUICE_GIVEN_MIN_P);
    give(request.repetition_penalty, given.repetition_penalty, SLUICE_GIVEN_REPETITION_PENALTY);
    give(request.presence_penalty, given.presence_penalty, SLUICE_GIVEN_PRESENCE_PENALTY);
    give(request.frequency_penalty, given.frequency_penalty, SLUICE_GIVEN_FREQUENCY_PENALTY);
    give(request.seed, given.seed, SLUICE_GIVEN_SEED);
    return given;
  }

  std::unique_ptr<std::function<bool()>> is_stopped_;  // of the text in the making
  std::unique_ptr<sluice_generator, detail::Deleter<sluice_generator, sluice_generator_free>>
      handle_;
};

/// Vectors of texts, or scores of pairs of texts. Movable. Use it from one thread at a time.
/// Several embedders of one model run in parallel. Keeps its model alive.
class Embedder {
 public:
  /// Fails: as sluice_embedder_create.
  static Expected<Embedder> create(const Model& model) {
    sluice_embedder* handle = nullptr;
    if (auto error = detail::check(sluice_embedder_create(model.get(), &handle))) return *error;
    return Embedder(handle);
  }

  /// Numbers of a vector; 0 for a model that scores pairs.
  std::size_t width() const {
    return static_cast<std::size_t>(sluice_embedder_width(handle_.get()));
  }
  /// The most tokens of a text.
  std::int64_t context() const { return sluice_embedder_context(handle_.get()); }

  /// A vector for each text, one behind the other: [texts, width]. Fails: as
  /// sluice_embedder_embed; INVALID_ARGUMENT for a text with a NUL.
  Expected<std::vector<float>> embed(std::span<const std::string> texts) {
    if (auto error = detail::check_texts(texts)) return *error;
    const auto given = detail::views_of(texts);
    std::vector<float> vectors(texts.size() * width());
    if (auto error = detail::check(
            sluice_embedder_embed(handle_.get(), given.data(), given.size(), vectors.data()))) {
      return *error;
    }
    return vectors;
  }
  /// How well each document answers the query. Fails: as sluice_embedder_score; INVALID_ARGUMENT
  /// for a text with a NUL.
  Expected<std::vector<float>> score(const std::string& query,
                                     std::span<const std::string> documents) {
    if (auto error = detail::check_texts({&query, 1})) return *error;
    if (auto error = detail::check_texts(documents)) return *error;
    const auto given = detail::views_of(documents);
    std::vector<float> scores(documents.size());
    if (auto error = detail::check(sluice_embedder_score(handle_.get(), query.c_str(), given.data(),
                                                         given.size(), scores.data()))) {
      return *error;
    }
    return scores;
  }

 private:
  explicit Embedder(sluice_embedder* handle) : handle_(handle) {}
  std::unique_ptr<sluice_embedder, detail::Deleter<sluice_embedder, sluice_embedder_free>> handle_;
};

}  // namespace sluice
