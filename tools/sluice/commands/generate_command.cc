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
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

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

class GenerateCommand : public Command {
 public:
  const char* name() const override { return "generate"; }

  void add_options(Options& options) override {
    options_.add_to(options,
                    "A folder with config.json and safetensors, or a .sluice file that `sluice "
                    "compile` made of one");
    options_.add_weights(options);
    options.add("--ids", ids_, "The prompt as ids of tokens: 1,15043").separated_by_commas();
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
    const auto model = SLUICE_TRY(
        exec::LoadedModel::load(SLUICE_TRY(open_model(options_)), backend_registry(), loading_));
    auto generator = SLUICE_TRY(generate::Generator::create(model));
    generate::Request request;
    request.prompt = SLUICE_TRY(prompt());
    request.sampling = sampling(generator.facts().sampling);
    request.max_tokens = max_tokens_;
    SLUICE_TRY(generator.start(std::move(request)));
    std::signal(SIGINT, interrupt);
    return print_tokens(generator);
  }

 private:
  Result<std::vector<std::int64_t>> prompt() const {
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
  Result<int> print_tokens(generate::Generator& generator) const {
    const std::int64_t start = now_ns();
    std::int64_t first = start;
    std::int64_t count = 0;
    while (!is_interrupted) {
      const auto token = SLUICE_TRY(generator.next());
      if (count == 0) first = now_ns();
      if (!token) break;
      fmt::print("{}{}", count == 0 ? "" : " ", *token);
      std::fflush(stdout);
      ++count;
    }
    fmt::print("\n");
    const auto later = std::max<std::int64_t>(0, count - 1);
    fmt::print(stderr, "prompt: {}; then {}{}\n",
               rate_text(static_cast<std::int64_t>(ids_.size()), first - start),
               rate_text(later, now_ns() - first), finish_text(generator.finish()));
    return 0;
  }

  static const char* finish_text(generate::Finish finish) {
    switch (finish) {
      case generate::Finish::kNone: return "; interrupted";
      case generate::Finish::kContext: return "; the model's context is full";
      case generate::Finish::kStop:
      case generate::Finish::kTokens: break;
    }
    return "";
  }

  static std::int64_t now_ns() { return system_clock().now_ns(); }

  ModelOptions options_;
  std::vector<std::string> ids_;
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
