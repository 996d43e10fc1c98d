#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "generate/generator.h"
#include "generate/package_text.h"
#include "generate/text_stream.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "text/tokenizer.h"

namespace sluice::tool {
namespace {

std::atomic<bool> is_interrupted = false;

/// Ctrl-C ends the text, not the program: the tokens so far and the times are printed.
void interrupt(int /*signal*/) { is_interrupted = true; }

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// "128 tokens in 0.9 s (142.2/s)"
std::string rate_text(std::int64_t tokens, std::int64_t ns) {
  const double time = seconds(std::max<std::int64_t>(ns, 1));
  return fmt::format("{} tokens in {:.2f} s ({:.1f}/s)", tokens, time,
                     static_cast<double>(tokens) / time);
}

/// Shows tokens as they come: as text, up to a text that ends it, or as ids.
class Printer {
 public:
  /// Without a tokenizer: ids.
  Printer(const std::optional<text::Tokenizer>& tokenizer, std::vector<std::string> stops) {
    if (tokenizer) text_.emplace(*tokenizer, std::move(stops));
  }

  Status add(std::int64_t token) {
    if (text_) {
      show(SLUICE_TRY(text_->add(token)));
    } else {
      show(fmt::format("{}{}", std::exchange(is_first_, false) ? "" : " ", token));
    }
    return ok_status();
  }
  /// Whether a text was found that ends the generation.
  bool is_over() const { return text_ && text_->is_over(); }
  Status finish() {
    if (text_) show(SLUICE_TRY(text_->finish()));
    show("\n");
    return ok_status();
  }

 private:
  static void show(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  std::optional<generate::TextStream> text_;
  bool is_first_ = true;
};

class GenerateCommand : public Command {
 public:
  const char* name() const override { return "generate"; }

  void add_options(Options& options) override {
    options_.add_to(options,
                    "A folder with config.json and safetensors, or a .sluice file that `sluice "
                    "compile` made of one");
    options_.add_weights(options);
    options.add("prompt", prompt_, "The text to go on with");
    options
        .add("--ids", ids_, "The prompt as ids of tokens instead, 1,15043; the answer is ids, too")
        .separated_by_commas();
    options.add("--stop", stops_, "End the answer before this text (repeatable)").repeatable();
    options.add("--max-tokens", max_tokens_,
                "End the text after so many tokens (default: at the model's context)");
    options.add("--temperature", temperature_,
                "0 takes the likeliest token; more draws from more of them");
    options.add("--top-k", top_k_, "Draw from so many of the likeliest tokens; 0: from all");
    options.add("--top-p", top_p_, "Draw from the likeliest tokens that have this share together");
    options.add("--min-p", min_p_, "Draw from tokens with this share of the likeliest one's");
    options.add("--repetition-penalty", penalty_, "Make tokens of the text less likely: above 1");
    options.add("--seed", seed_, "Start of the draws: equal seeds give equal texts")
        .shows_default();
    options.add_threads(loading_.num_threads, "Cores to use; 0 takes all");
  }

  Result<int> run() override {
    if (prompt_.empty() == ids_.empty()) {
      return invalid_argument("give the prompt as a text or by --ids, and not both");
    }
    if (prompt_.empty() && !stops_.empty())
      return invalid_argument("--stop is for a prompt of text");
    auto executable = SLUICE_TRY(open_model(options_));
    std::optional<text::Tokenizer> tokenizer;
    if (!prompt_.empty()) tokenizer = SLUICE_TRY(generate::read_tokenizer(executable));
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading_));
    auto generator = SLUICE_TRY(generate::Generator::create(model));
    generate::Request request;
    request.prompt = SLUICE_TRY(tokenizer ? encode(*tokenizer) : parse_ids());
    request.sampling = sampling(generator.facts().sampling);
    request.max_tokens = max_tokens_;
    num_prompt_ = static_cast<std::int64_t>(request.prompt.size());
    SLUICE_TRY(generator.start(std::move(request)));
    std::signal(SIGINT, interrupt);
    return print_tokens(generator, Printer(tokenizer, stops_));
  }

 private:
  Result<std::vector<std::int64_t>> encode(const text::Tokenizer& tokenizer) const {
    std::vector<std::int64_t> ids;
    for (const text::TokenId id : SLUICE_TRY(tokenizer.encode(prompt_))) ids.push_back(id.value());
    return ids;
  }

  Result<std::vector<std::int64_t>> parse_ids() const {
    std::vector<std::int64_t> ids;
    for (const std::string& text : ids_) {
      std::int64_t id = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
      if (error != std::errc() || end != text.data() + text.size()) {
        return invalid_argument("--ids: \"{}\" is not the id of a token", text);
      }
      ids.push_back(id);
    }
    return ids;
  }

  /// The model's advice, but for what the command line says.
  generate::Sampling sampling(generate::Sampling advice) const {
    advice.temperature = temperature_.value_or(advice.temperature);
    advice.top_k = top_k_.value_or(advice.top_k);
    advice.top_p = top_p_.value_or(advice.top_p);
    advice.min_p = min_p_.value_or(advice.min_p);
    advice.repetition_penalty = penalty_.value_or(advice.repetition_penalty);
    advice.seed = seed_;
    return advice;
  }

  /// Each token as it comes; times at the end, on stderr.
  Result<int> print_tokens(generate::Generator& generator, Printer printer) const {
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
    SLUICE_TRY(printer.finish());
    const auto later = std::max<std::int64_t>(0, count - 1);
    fmt::print(stderr, "prompt: {}; then {}{}\n", rate_text(num_prompt_, first - start),
               rate_text(later, now_ns() - first), finish_text(generator.finish()));
    return 0;
  }

  static const char* finish_text(generate::Finish finish) {
    switch (finish) {
      case generate::Finish::kNone: return is_interrupted ? "; interrupted" : "";
      case generate::Finish::kContext: return "; the model's context is full";
      case generate::Finish::kStop:
      case generate::Finish::kTokens: break;
    }
    return "";
  }

  static std::int64_t now_ns() { return system_clock().now_ns(); }

  ModelOptions options_;
  std::string prompt_;
  std::vector<std::string> ids_;
  std::vector<std::string> stops_;
  std::int64_t num_prompt_ = 0;
  std::optional<std::int64_t> max_tokens_;
  std::optional<float> temperature_;
  std::optional<std::int64_t> top_k_;
  std::optional<float> top_p_;
  std::optional<float> min_p_;
  std::optional<float> penalty_;
  std::uint64_t seed_ = 0;
  exec::LoadOptions loading_;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() { return std::make_unique<GenerateCommand>(); }

}  // namespace sluice::tool
