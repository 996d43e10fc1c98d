#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "generate/facts.h"
#include "generate/generator.h"
#include "generate/text/package_text.h"
#include "generate/text/text_generator.h"
#include "sluice/cli/command.h"
#include "sluice/language/answer.h"
#include "sluice/language/perplexity.h"
#include "sluice/model/model_source.h"
#include "text/tokenizer.h"

namespace sluice::tool {
namespace {

constexpr std::int64_t kMaxTextBytes = std::int64_t{16} << 20;  ///< that a tokenizer takes

class GenerateCommand : public Command {
 public:
  const char* name() const override { return "generate"; }

  void add_options(Options& options) override {
    options_.add_to(
        options,
        "A folder with config.json and safetensors, a GGUF file, or a .sluice file that `sluice "
        "compile` made of one");
    options_.add_weights(options);
    options_.add_kv_cache(options);
    options.add("prompt", prompt_, "The text to go on with");
    options
        .add("--ids", ids_, "The prompt as ids of tokens instead, 1,15043; the answer is ids, too")
        .separated_by_commas();
    options.add("--perplexity", perplexity_path_,
                "Say how well the model foretells the text of this file, instead of writing one: "
                "the perplexity of its tokens in windows of 512");
    options.flag("--check", is_check_,
                 "Compare tokens and likeliest answers with those of transformers, instead of "
                 "writing a text; by python3, or the Python that SLUICE_PYTHON names");
    answer_.add_to(options);
    options.add_threads(loading_.num_threads, "Cores to use; 0 takes all");
  }

  Result<int> run() override {
    if (is_check_) return become_check();
    if (!perplexity_path_.empty()) return print_perplexity();
    if (prompt_.empty() && ids_.empty())
      return invalid_argument("the prompt is empty: give the prompt as a text or by --ids");
    if (!prompt_.empty() && !ids_.empty())
      return invalid_argument("give the prompt as a text or by --ids, and not both");
    if (prompt_.empty()) SLUICE_TRY(answer_.read(nullptr));
    answer_.add_adapter(options_);
    auto executable = SLUICE_TRY(open_model(options_));
    SLUICE_TRY(generate::facts_of(executable.graph.metadata));
    std::optional<text::Tokenizer> tokenizer;
    if (!prompt_.empty()) {
      tokenizer = SLUICE_TRY(generate::read_tokenizer(executable));
      SLUICE_TRY(answer_.read(&*tokenizer));
    }
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading_));
    auto prompt =
        SLUICE_TRY(tokenizer ? generate::encode_prompt(*tokenizer, prompt_) : parse_ids());
    auto generator = SLUICE_TRY(generate::TextGenerator::create(model, std::move(tokenizer)));
    end_answers_at_interrupt();
    auto request = answer_.request(std::move(prompt), generator.facts());
    SLUICE_TRY(print_answer(generator, std::move(request), answer_.stops()));
    return 0;
  }

 private:
  /// Becomes python/sluice/checks/language.py. Returns only if it cannot.
  Result<int> become_check() {
    if (!prompt_.empty() || !ids_.empty() || !perplexity_path_.empty())
      return invalid_argument("--check has texts of its own, and takes no prompt");
    const char* const named = std::getenv("SLUICE_PYTHON");  // NOLINT(concurrency-mt-unsafe)
    std::string python = named != nullptr && *named != '\0' ? named : "python3";
    std::string module = "sluice.checks.language";
    char dash_m[] = "-m";
    char* const words[] = {python.data(), dash_m, module.data(), options_.path.data(), nullptr};
    execvp(words[0], words);
    return make_error(Code::kUnavailable,
                      "{}: {}; --check needs Python with sluice, torch and transformers", python,
                      std::generic_category().message(errno));
  }

  Result<int> print_perplexity() {
    if (!prompt_.empty() || !ids_.empty())
      return invalid_argument("--perplexity takes the text of its file, and no prompt");
    const std::string text = SLUICE_TRY(read_text_file(perplexity_path_, kMaxTextBytes));
    auto executable = SLUICE_TRY(open_model(options_));
    SLUICE_TRY(generate::facts_of(executable.graph.metadata));
    const auto tokenizer = SLUICE_TRY(generate::read_tokenizer(executable));
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading_));
    auto generator = SLUICE_TRY(generate::Generator::create(model));
    auto line = perplexity_line(generator, tokenizer, text);
    fmt::print("{}\n", SLUICE_TRY(std::move(line).with_context(perplexity_path_)));
    return 0;
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

  ModelOptions options_;
  std::string perplexity_path_;
  bool is_check_ = false;
  std::string prompt_;
  std::vector<std::string> ids_;
  AnswerOptions answer_;
  exec::LoadOptions loading_;
};

}  // namespace

std::unique_ptr<Command> make_generate_command() { return std::make_unique<GenerateCommand>(); }

}  // namespace sluice::tool
