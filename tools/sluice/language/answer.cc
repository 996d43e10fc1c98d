#include "sluice/language/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace sluice::tool {
namespace {

std::atomic<bool> is_interrupted = false;

void interrupt(int /*signal*/) { is_interrupted = true; }

/// "128 tokens in 0.9 s (142.2/s)"
std::string rate_text(std::int64_t tokens, std::int64_t ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(ns, 1)) / 1e9;
  return fmt::format("{} tokens in {:.2f} s ({:.1f}/s)", tokens, seconds,
                     static_cast<double>(tokens) / seconds);
}

const char* finish_text(generate::Finish finish) {
  switch (finish) {
    case generate::Finish::kNone: return is_interrupted ? "; interrupted" : "";
    case generate::Finish::kContext: return "; the model's context is full";
    case generate::Finish::kStop:
    case generate::Finish::kTokens: break;
  }
  return "";
}

/// Shows tokens as they come: as text, or as ids.
class Printer {
 public:
  Printer(const std::optional<text::Tokenizer>& tokenizer, std::vector<std::string> stops) {
    if (tokenizer) text_.emplace(*tokenizer, std::move(stops));
  }

  Status add(std::int64_t token) {
    if (text_) {
      show(SLUICE_TRY(text_->add(token)));
    } else {
      show(fmt::format("{}{}", shown_.empty() ? "" : " ", token));
    }
    return ok_status();
  }
  /// Whether a text was found that ends the generation.
  bool is_over() const { return text_ && text_->is_over(); }
  Result<std::string> finish() {
    if (text_) show(SLUICE_TRY(text_->finish()));
    std::string all = std::move(shown_);
    show("\n");
    return all;
  }

 private:
  void show(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
    shown_ += text;
  }

  std::optional<generate::TextStream> text_;
  std::string shown_;
};

}  // namespace

void AnswerOptions::add_to(Options& options) {
  options.add("--stop", stops_, "End the answer before this text (repeatable)").repeatable();
  options.add("--max-tokens", max_tokens_,
              "End the text after so many tokens (default: at the model's context)");
  options.add("--temperature", temperature_,
              "0 takes the likeliest token; more draws from more of them");
  options.add("--top-k", top_k_, "Draw from so many of the likeliest tokens; 0: from all");
  options.add("--top-p", top_p_, "Draw from the likeliest tokens that have this share together");
  options.add("--min-p", min_p_, "Draw from tokens with this share of the likeliest one's");
  options.add("--repetition-penalty", penalty_, "Make tokens of the text less likely: above 1");
  options.add("--seed", seed_, "Start of the draws: equal seeds give equal texts").shows_default();
}

generate::Request AnswerOptions::request(std::vector<std::int64_t> prompt,
                                         const generate::Facts& facts) const {
  generate::Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens_;
  request.sampling = facts.sampling;
  generate::Sampling& sampling = request.sampling;
  sampling.temperature = temperature_.value_or(sampling.temperature);
  sampling.top_k = top_k_.value_or(sampling.top_k);
  sampling.top_p = top_p_.value_or(sampling.top_p);
  sampling.min_p = min_p_.value_or(sampling.min_p);
  sampling.repetition_penalty = penalty_.value_or(sampling.repetition_penalty);
  sampling.seed = seed_;
  return request;
}

void end_answers_at_interrupt() { std::signal(SIGINT, interrupt); }

Result<std::string> print_answer(generate::Generator& generator, generate::Request request,
                                 const std::optional<text::Tokenizer>& tokenizer,
                                 const std::vector<std::string>& stops) {
  const auto now_ns = [] { return system_clock().now_ns(); };
  is_interrupted = false;
  const auto num_prompt = static_cast<std::int64_t>(request.prompt.size());
  SLUICE_TRY(generator.start(std::move(request)));
  Printer printer(tokenizer, stops);
  const std::int64_t start = now_ns();
  std::int64_t first = start;
  std::int64_t count = 0;
  while (!is_interrupted && !printer.is_over()) {
    const auto token = SLUICE_TRY(generator.next());
    if (count == 0) first = now_ns();
    if (!token) break;
    SLUICE_TRY(printer.add(*token));
    ++count;
  }
  std::string shown = SLUICE_TRY(printer.finish());
  const auto later = std::max<std::int64_t>(0, count - 1);
  fmt::print(stderr, "prompt: {}; then {}{}\n", rate_text(num_prompt, first - start),
             rate_text(later, now_ns() - first), finish_text(generator.finish()));
  return shown;
}

}  // namespace sluice::tool
