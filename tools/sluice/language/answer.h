// What `generate` and `chat` share: how tokens are chosen, and an answer that shows as it comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/text/text_generator.h"
#include "sluice/cli/options.h"

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
