// What `generate` and `chat` share: how tokens are chosen, and an answer that shows as it comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/generator.h"
#include "generate/text_stream.h"
#include "sluice/cli/options.h"
#include "text/tokenizer.h"

namespace sluice::tool {

/// Options of a command line. The model's advice holds where an option is absent.
class AnswerOptions {
 public:
  void add_to(Options& options);

  generate::Request request(std::vector<std::int64_t> prompt, const generate::Facts& facts) const;
  const std::vector<std::string>& stops() const { return stops_; }

 private:
  std::vector<std::string> stops_;
  std::optional<std::int64_t> max_tokens_;
  std::optional<float> temperature_;
  std::optional<std::int64_t> top_k_;
  std::optional<float> top_p_;
  std::optional<float> min_p_;
  std::optional<float> penalty_;
  std::uint64_t seed_ = 0;
};

/// Ctrl-C ends the answer from now on, not the program.
void end_answers_at_interrupt();

/// Computes what follows the prompt, and prints it as it comes: as text up to one of `stops`, or as
/// ids without a tokenizer. Times go to stderr. Returns what was printed, without the line end.
/// Fails: as Generator::start and Generator::next.
Result<std::string> print_answer(generate::Generator& generator, generate::Request request,
                                 const std::optional<text::Tokenizer>& tokenizer,
                                 const std::vector<std::string>& stops);

}  // namespace sluice::tool
