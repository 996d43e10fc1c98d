// What `generate` and `chat` share: how tokens are chosen, and an answer that shows as it comes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/text/text_generator.h"
#include "grammar/token_grammar.h"
#include "options/compile_flags.h"
#include "sluice/cli/options.h"
#include "text/tokenizer.h"

namespace sluice::tool {

/// Options of a command line. The model's advice holds where an option is absent.
class AnswerOptions {
 public:
  void add_to(Options& options);

  /// Reads what is said in texts and files, before the first request. `tokenizer`: null where the
  /// prompt is ids.
  /// Fails: kInvalidArgument for an option that needs a tokenizer, or is no such text; as
  ///        read_text_file, grammar::Grammars::find and generate::encode_bad_words.
  Status read(const text::Tokenizer* tokenizer);

  generate::Request request(std::vector<std::int64_t> prompt, const generate::Facts& facts) const;
  /// Gives the model of the command line the adapter that --adapter names with its folder. Before
  /// the model is opened.
  void add_adapter(options::CompileFlags& flags) const;
  const std::vector<std::string>& stops() const { return stops_; }

 private:
  Status read_grammar(const text::Tokenizer& tokenizer);

  std::vector<std::string> stops_;
  std::string adapter_;  ///< "NAME", or "NAME=FOLDER"
  std::string schema_path_;
  std::string grammar_path_;
  std::shared_ptr<grammar::TokenGrammar> grammar_;  ///< of one of them; null: any text
  std::vector<std::string> biases_;
  std::vector<std::string> bad_words_;
  std::optional<std::int64_t> max_tokens_;
  generate::WantedSampling sampling_;
  std::uint64_t seed_ = 0;
};

/// Ctrl-C ends the answer from now on, not the program.
void end_answers_at_interrupt();

/// Computes what follows the prompt, up to one of `stops`, and prints it as it comes. Times go to
/// stderr. Returns what was printed, without the line end.
/// Fails: as TextGenerator::start and TextGenerator::next.
Result<std::string> print_answer(generate::TextGenerator& generator, generate::Request request,
                                 const std::vector<std::string>& stops);

}  // namespace sluice::tool
