#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generate/text/package_text.h"
#include "generate/text/text_generator.h"
#include "sluice/cli/command.h"
#include "sluice/language/answer.h"
#include "sluice/model/model_source.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::tool {
namespace {

nlohmann::ordered_json message(const char* role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

class ChatCommand : public Command {
 public:
  const char* name() const override { return "chat"; }

  void add_options(Options& options) override {
    options_.add_to(
        options,
        "A folder with config.json and safetensors, a GGUF file, or a .sluice file that `sluice "
        "compile` made of one; its files have a chat template");
    options_.add_weights(options);
    options_.add_kv_cache(options);
    options.add("--system", system_, "The system message: how the model shall answer");
    answer_.add_to(options);
    options.add_threads(loading_.num_threads, "Cores to use; 0 takes all");
  }

  Result<int> run() override {
    answer_.add_adapter(options_);
    auto executable = SLUICE_TRY(open_model(options_));
    const auto chat_template = SLUICE_TRY(generate::read_chat_template(executable));
    const auto tokenizer = SLUICE_TRY(generate::read_tokenizer(executable));
    SLUICE_TRY(answer_.read(&tokenizer));
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading_));
    auto generator = SLUICE_TRY(generate::TextGenerator::create(model, tokenizer));
    end_answers_at_interrupt();
    reset();
    std::string line;
    while (read_line(line)) {
      if (line == "/exit") break;
      if (line == "/reset") {
        reset();
        continue;
      }
      SLUICE_TRY(answer(line, chat_template, tokenizer, generator));
    }
    return 0;
  }

 private:
  void reset() {
    chat_.messages = nlohmann::ordered_json::array();
    if (!system_.empty()) chat_.messages.push_back(message("system", system_));
  }

  /// False at the end of the input. Empty lines are no messages.
  bool read_line(std::string& line) const {
    do {
      if (is_terminal_) fmt::print(stderr, "> ");
      if (!std::getline(std::cin, line)) return false;
    } while (line.empty());
    return true;
  }

  /// A message that cannot be answered leaves the conversation; at a terminal it goes on.
  Status answer(const std::string& line, const text::ChatTemplate& chat_template,
                const text::Tokenizer& tokenizer, generate::TextGenerator& generator) {
    chat_.messages.push_back(message("user", line));
    auto answered = try_answer(chat_template, tokenizer, generator);
    if (answered.is_ok()) {
      chat_.messages.push_back(message("assistant", *answered));
      return ok_status();
    }
    chat_.messages.erase(chat_.messages.size() - 1);
    if (!is_terminal_) return answered.status();
    fmt::print(stderr, "{}; /reset begins a new conversation\n", answered.status().message());
    return ok_status();
  }

  Result<std::string> try_answer(const text::ChatTemplate& chat_template,
                                 const text::Tokenizer& tokenizer,
                                 generate::TextGenerator& generator) const {
    auto ids = SLUICE_TRY(generate::encode_chat(tokenizer, chat_template, chat_));
    return print_answer(generator, answer_.request(std::move(ids), generator.facts()),
                        answer_.stops());
  }

  ModelOptions options_;
  AnswerOptions answer_;
  std::string system_;
  exec::LoadOptions loading_;
  text::Chat chat_;
  bool is_terminal_ = isatty(STDIN_FILENO) == 1;
};

}  // namespace

std::unique_ptr<Command> make_chat_command() { return std::make_unique<ChatCommand>(); }

}  // namespace sluice::tool
