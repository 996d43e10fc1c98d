#include "sluice/language/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/text/plural.h"
#include "generate/text/package_text.h"
#include "grammar/grammars.h"

namespace sluice::tool {
namespace {

constexpr std::int64_t kMaxGrammarFileBytes = std::int64_t{1} << 20;

std::atomic<bool> is_interrupted = false;

void interrupt(int /*signal*/) { is_interrupted = true; }

/// "128 tokens in 0.9 s (142.2/s)"
std::string rate_text(std::int64_t tokens, std::int64_t ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(ns, 1)) / 1e9;
  return fmt::format("{} in {:.2f} s ({:.1f}/s)", counted(tokens, "token"), seconds,
                     static_cast<double>(tokens) / seconds);
}

/// "201.4 kB", "75.5 MB"
std::string bytes_text(std::int64_t bytes) {
  const double kilobytes = static_cast<double>(bytes) / 1e3;
  return kilobytes < 1e3 ? fmt::format("{:.1f} kB", kilobytes)
                         : fmt::format("{:.1f} MB", kilobytes / 1e3);
}

/// "; 201.4 kB copied a token, 75.5 MB of states stay on the device"; empty if nothing is copied.
std::string copied_text(const generate::TextGenerator& generator, std::int64_t bytes,
                        std::int64_t tokens) {
  if (bytes == 0 || tokens == 0) return "";
  std::string text = fmt::format("; {} copied a token", bytes_text(bytes / tokens));
  if (const std::int64_t kept = generator.kept_bytes(); kept > 0) {
    text += fmt::format(", {} of states stay on the device", bytes_text(kept));
  }
  return text;
}

const char* finish_text(generate::Finish finish) {
  switch (finish) {
    case generate::Finish::kCancelled: return "; interrupted";
    case generate::Finish::kContext: return "; the model's context is full";
    case generate::Finish::kNone:
    case generate::Finish::kStop:
    case generate::Finish::kTokens: break;
  }
  return "";
}

/// "15043=-100"
Result<generate::LogitBias> bias_of(const std::string& text) {
  generate::LogitBias bias;
  const char* const end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, bias.id);
  if (id.ec == std::errc() && id.ptr != end && *id.ptr == '=') {
    const auto number = std::from_chars(id.ptr + 1, end, bias.bias);
    if (number.ec == std::errc() && number.ptr == end) return bias;
  }
  return invalid_argument("--logit-bias: \"{}\" is not ID=BIAS, such as 15043=-100", text);
}

}  // namespace

void AnswerOptions::add_to(Options& options) {
  options.add("--stop", stops_, "End the answer before this text (repeatable)").repeatable();
  options.add("--schema", schema_path_,
              "A file with a JSON schema: the answer is JSON that fits it");
  options.add("--grammar", grammar_path_, "A file with a grammar in GBNF that the answer keeps to");
  options.add("--max-tokens", max_tokens_,
              "End the text after so many tokens (default: at the model's context)");
  options.add("--temperature", sampling_.temperature,
              "0 takes the likeliest token; more draws from more of them");
  options.add("--top-k", sampling_.top_k, "Draw from so many of the likeliest tokens; 0: from all");
  options.add("--top-p", sampling_.top_p,
              "Draw from the likeliest tokens that have this share together");
  options.add("--min-p", sampling_.min_p,
              "Draw from tokens with this share of the likeliest one's");
  options.add("--repetition-penalty", sampling_.repetition_penalty,
              "Make tokens of the text less likely: above 1");
  options.add("--presence-penalty", sampling_.presence_penalty,
              "Taken from the logits of tokens that the answer has: -2 to 2");
  options.add("--frequency-penalty", sampling_.frequency_penalty,
              "Taken for each time that the answer has the token: -2 to 2");
  options
      .add("--logit-bias", biases_,
           "ID=BIAS: add -100 to 100 to the logit of this token (repeatable)")
      .repeatable();
  options.add("--bad-word", bad_words_, "Keep this word out of the answer (repeatable)")
      .repeatable();
  options.add("--adapter", adapter_,
              "Answer with this low-rank adapter: NAME of one that the package was compiled with, "
              "or NAME=FOLDER of PEFT for a folder or a GGUF file");
  options.add("--seed", seed_, "Start of the draws: equal seeds give equal texts").shows_default();
}

generate::Request AnswerOptions::request(std::vector<std::int64_t> prompt,
                                         const generate::Facts& facts) const {
  generate::Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens_;
  request.sampling = sampling_.over(facts.sampling, seed_);
  request.grammar = grammar_;
  request.adapter = adapter_.substr(0, adapter_.find('='));
  request.is_stopped = [] { return is_interrupted.load(); };
  return request;
}

void AnswerOptions::add_adapter(options::CompileFlags& flags) const {
  if (adapter_.find('=') != std::string::npos) flags.adapters.push_back(adapter_);
}

Status AnswerOptions::read(const text::Tokenizer* tokenizer) {
  for (const std::string& text : biases_) sampling_.logit_bias.push_back(SLUICE_TRY(bias_of(text)));
  if (tokenizer != nullptr) {
    sampling_.bad_words = SLUICE_TRY(generate::encode_bad_words(*tokenizer, bad_words_));
    return read_grammar(*tokenizer);
  }
  if (!stops_.empty()) return invalid_argument("--stop is for a prompt of text");
  if (!bad_words_.empty()) return invalid_argument("--bad-word is for a prompt of text");
  if (schema_path_.empty() && grammar_path_.empty()) return ok_status();
  return invalid_argument("--schema and --grammar are for a prompt of text");
}

Status AnswerOptions::read_grammar(const text::Tokenizer& tokenizer) {
  using Form = grammar::Source::Form;
  if (!schema_path_.empty() && !grammar_path_.empty()) {
    return invalid_argument("give --schema or --grammar, and not both");
  }
  const std::string& path = schema_path_.empty() ? grammar_path_ : schema_path_;
  if (path.empty()) return ok_status();
  grammar::Source source;
  source.form = schema_path_.empty() ? Form::kGbnf : Form::kSchema;
  source.text = SLUICE_TRY(read_text_file(path, kMaxGrammarFileBytes));
  auto found = grammar::Grammars(tokenizer).find(source);
  grammar_ = SLUICE_TRY(std::move(found).with_context(path));
  return ok_status();
}

void end_answers_at_interrupt() { std::signal(SIGINT, interrupt); }

Result<std::string> print_answer(generate::TextGenerator& generator, generate::Request request,
                                 const std::vector<std::string>& stops) {
  const auto now_ns = [] { return system_clock().now_ns(); };
  is_interrupted = false;
  SLUICE_TRY(generator.start(std::move(request), stops));
  std::string shown;
  const std::int64_t start = now_ns();
  std::int64_t first = start;
  std::int64_t copied = 0;  // bytes until the first token
  while (true) {
    auto next = generator.next();
    if (!next.is_ok() && !shown.empty()) fmt::print("\n");
    const auto piece = SLUICE_TRY(std::move(next));
    if (generator.num_tokens() <= 1) {
      first = now_ns();
      copied = generator.copied_bytes();
    }
    if (!piece) break;
    fmt::print("{}", piece->text);
    std::fflush(stdout);
    shown += piece->text;
  }
  fmt::print("\n");
  std::fflush(stdout);
  if (generator.finish() == generate::Finish::kCancelled && generator.num_tokens() == 0) {
    fmt::print(stderr, "prompt: {}; interrupted before the end\n",
               counted(generator.num_prompt_tokens(), "token"));
    return shown;
  }
  const auto later = std::max<std::int64_t>(0, generator.num_tokens() - 1);
  fmt::print(stderr, "prompt: {}; then {}{}{}\n",
             rate_text(generator.num_prompt_tokens(), first - start),
             rate_text(later, now_ns() - first),
             copied_text(generator, generator.copied_bytes() - copied, later),
             finish_text(generator.finish()));
  return shown;
}

}  // namespace sluice::tool
