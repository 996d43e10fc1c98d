// The functions of sluice/generate.h for generators.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/context_control.h"
#include "api/last_error.h"
#include "api/model.h"
#include "api/read_options.h"
#include "generate/text/package_text.h"
#include "generate/text/text_generator.h"
#include "grammar/grammars.h"
#include "sluice/generate.h"

struct sluice_generator {
  std::shared_ptr<const sluice::api::OpenModel> open;
  sluice::generate::TextGenerator texts;
  sluice::generate::TextGenerator::Piece given = {};  // what `piece` points to
  std::vector<sluice_token_logprob> top = {};
  sluice_piece piece = {};
  sluice::api::ContextControl control = {};
};

namespace sluice::api {
namespace {

using generate::Finish;

// The numbers of the interface and of the enumeration are the same, so no table translates them.
static_assert(static_cast<int>(Finish::kNone) == SLUICE_FINISH_NONE);
static_assert(static_cast<int>(Finish::kStop) == SLUICE_FINISH_STOP);
static_assert(static_cast<int>(Finish::kTokens) == SLUICE_FINISH_TOKENS);
static_assert(static_cast<int>(Finish::kContext) == SLUICE_FINISH_CONTEXT);
static_assert(static_cast<int>(Finish::kCancelled) == SLUICE_FINISH_CANCELLED);

/// All bits up to the newest. An unknown bit is an error: a newer program would otherwise get a
/// default where it asked for something.
constexpr std::uint32_t kAllGiven = (SLUICE_GIVEN_FREQUENCY_PENALTY << 1U) - 1U;

/// From the system, per request: without a seed two texts must differ.
std::uint64_t any_seed() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32U) | random();
}

/// Zero is a value for most fields, so a bit says whether the caller set one.
template <typename T>
std::optional<T> if_given(const sluice_generate_request& request, std::uint32_t flag, T value) {
  return (request.given & flag) != 0 ? std::optional(value) : std::nullopt;
}

generate::WantedSampling numbers_of(const sluice_generate_request& given) {
  return {
      .temperature = if_given(given, SLUICE_GIVEN_TEMPERATURE, given.temperature),
      .top_k = if_given(given, SLUICE_GIVEN_TOP_K, given.top_k),
      .top_p = if_given(given, SLUICE_GIVEN_TOP_P, given.top_p),
      .min_p = if_given(given, SLUICE_GIVEN_MIN_P, given.min_p),
      .repetition_penalty =
          if_given(given, SLUICE_GIVEN_REPETITION_PENALTY, given.repetition_penalty),
      .presence_penalty = if_given(given, SLUICE_GIVEN_PRESENCE_PENALTY, given.presence_penalty),
      .frequency_penalty = if_given(given, SLUICE_GIVEN_FREQUENCY_PENALTY, given.frequency_penalty),
      .seed = if_given(given, SLUICE_GIVEN_SEED, given.seed)};
}

/// `name`: of the field.
Result<std::vector<std::string>> texts_of(const char* const* texts, std::size_t count,
                                          const char* name) {
  if (texts == nullptr && count > 0) return null_argument(name);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return null_argument(name);
    all.emplace_back(texts[i]);
  }
  return all;
}

Result<generate::WantedSampling> sampling_of(const ModelLanguage& language,
                                             const sluice_generate_request& given) {
  generate::WantedSampling sampling = numbers_of(given);
  if (given.logit_bias == nullptr && given.num_logit_bias > 0) return null_argument("logit_bias");
  for (std::size_t i = 0; i < given.num_logit_bias; ++i) {
    sampling.logit_bias.push_back({given.logit_bias[i].token, given.logit_bias[i].bias});
  }
  const auto words = SLUICE_TRY(texts_of(given.bad_words, given.num_bad_words, "bad_words"));
  if (words.empty()) return sampling;
  const auto tokenizer = SLUICE_TRY(language.tokenizer());
  sampling.bad_words = SLUICE_TRY(generate::encode_bad_words(tokenizer, words));
  return sampling;
}

Result<std::vector<std::int64_t>> prompt_of(const ModelLanguage& language,
                                            const sluice_generate_request& given) {
  // The three name the same thing, the prompt, in different forms. Two of them would contradict
  // each other.
  const int num_given = static_cast<int>(given.prompt != nullptr) +
                        static_cast<int>(given.ids != nullptr) +
                        static_cast<int>(given.chat != nullptr);
  if (num_given != 1) {
    return invalid_argument("{} of prompt, ids and chat are given; give one", num_given);
  }
  if (given.ids != nullptr) return std::vector<std::int64_t>(given.ids, given.ids + given.num_ids);
  const auto tokenizer = SLUICE_TRY(language.tokenizer());
  if (given.prompt != nullptr) {
    return generate::encode_prompt(tokenizer, std::string_view(given.prompt, given.prompt_bytes));
  }
  const auto chat_template = SLUICE_TRY(language.chat_template());
  const auto chat = SLUICE_TRY(text::parse_chat(given.chat));
  return generate::encode_chat(tokenizer, chat_template, chat);
}

Result<grammar::Source> source_of(const sluice_generate_request& given) {
  using Form = grammar::Source::Form;
  if (given.schema != nullptr && given.grammar != nullptr) {
    return invalid_argument("schema and grammar are given; give one");
  }
  if (given.schema != nullptr) return grammar::Source{Form::kSchema, given.schema};
  if (given.grammar != nullptr) return grammar::Source{Form::kGbnf, given.grammar};
  return grammar::Source{};
}

Status start(sluice_generator& generator, const sluice_generate_request& given) {
  if ((given.given & ~kAllGiven) != 0) {
    return invalid_argument("given is {}; it takes SLUICE_GIVEN_", given.given);
  }
  if (given.stop_ids == nullptr && given.num_stop_ids > 0) return null_argument("stop_ids");
  generate::Request request;
  request.prompt = SLUICE_TRY(prompt_of(*generator.open->language, given));
  // The order of precedence: the request, the package's advice, the defaults.
  const auto wanted = SLUICE_TRY(sampling_of(*generator.open->language, given));
  request.sampling = wanted.over(generator.texts.facts().sampling, any_seed());
  request.max_tokens = if_given(given, SLUICE_GIVEN_MAX_TOKENS, given.max_tokens);
  request.top_logprobs = if_given(given, SLUICE_GIVEN_TOP_LOGPROBS, given.top_logprobs);
  if (given.adapter != nullptr) request.adapter = given.adapter;
  request.stops.assign(given.stop_ids, given.stop_ids + given.num_stop_ids);
  const grammar::Source source = SLUICE_TRY(source_of(given));
  request.grammar = SLUICE_TRY(generator.open->language->grammar(source));
  if (given.is_stopped != nullptr) {
    request.is_stopped = [ask = given.is_stopped, user_data = given.user_data] {
      return ask(user_data) != 0;
    };
  }
  auto stops = SLUICE_TRY(texts_of(given.stops, given.num_stops, "stops"));
  return generator.texts.start(std::move(request), std::move(stops));
}

Status next(sluice_generator& generator, const sluice_piece** piece) {
  auto given = SLUICE_TRY(generator.texts.next());
  if (!given) return ok_status();
  generator.given = std::move(*given);
  const std::string& text = generator.given.text;
  // Pointers of the piece before are invalid from here on, as the header says.
  generator.piece = {};
  generator.piece.text = text.c_str();
  generator.piece.size_bytes = text.size();
  generator.piece.token = generator.given.token.value_or(-1);
  generator.top.clear();
  if (const auto& logprobs = generator.given.logprobs) {
    for (const auto& [token, logprob] : logprobs->top) generator.top.push_back({token, logprob, 0});
    generator.piece.has_logprobs = 1;
    generator.piece.logprob = logprobs->chosen;
    generator.piece.num_top = generator.top.size();
    generator.piece.top = generator.top.data();
  }
  *piece = &generator.piece;
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

using sluice::api::ContextUse;
using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_generator_create(sluice_model* model, sluice_generator** generator) {
  return guard([&]() -> sluice::Status {
    if (generator == nullptr) return null_argument("generator");
    *generator = nullptr;
    if (model == nullptr) return null_argument("model");
    const sluice::api::ModelLanguage& language = *model->open->language;
    std::optional<sluice::text::Tokenizer> tokenizer;
    if (language.has_tokenizer()) tokenizer = SLUICE_TRY(language.tokenizer());
    auto texts = SLUICE_TRY(
        sluice::generate::TextGenerator::create(model->open->loaded, std::move(tokenizer)));
    *generator = new sluice_generator{model->open, std::move(texts)};
    return sluice::ok_status();
  });
}

void sluice_generator_free(sluice_generator* generator) { delete generator; }

int64_t sluice_generator_context(const sluice_generator* generator) {
  return generator == nullptr ? 0 : generator->texts.facts().context;
}

int32_t sluice_generator_start(sluice_generator* generator,
                               const sluice_generate_request* request) {
  return guard([&]() -> sluice::Status {
    if (generator == nullptr || request == nullptr) return null_argument("generator or request");
    // A second thread gets an error instead of a data race.
    const auto use = SLUICE_TRY(ContextUse::take(generator->control));
    return sluice::api::start(*generator, sluice::api::read_options(request));
  });
}

int32_t sluice_generator_next(sluice_generator* generator, const sluice_piece** piece) {
  return guard([&]() -> sluice::Status {
    if (generator == nullptr || piece == nullptr) return null_argument("generator or piece");
    *piece = nullptr;
    const auto use = SLUICE_TRY(ContextUse::take(generator->control));
    return sluice::api::next(*generator, piece);
  });
}

int32_t sluice_generator_finish(const sluice_generator* generator) {
  return generator == nullptr ? SLUICE_FINISH_NONE
                              : static_cast<int32_t>(generator->texts.finish());
}

int64_t sluice_generator_num_prompt_tokens(const sluice_generator* generator) {
  return generator == nullptr ? 0 : generator->texts.num_prompt_tokens();
}

int64_t sluice_generator_num_tokens(const sluice_generator* generator) {
  return generator == nullptr ? 0 : generator->texts.num_tokens();
}
