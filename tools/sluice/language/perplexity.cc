#include "sluice/language/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/text/plural.h"
#include "generate/text/package_text.h"

namespace sluice::tool {
namespace {

constexpr std::int64_t kWindow = 512;

}  // namespace

Result<std::string> perplexity_line(generate::Generator& generator,
                                    const text::Tokenizer& tokenizer, const std::string& text) {
  const auto window = static_cast<std::size_t>(std::min(kWindow, generator.facts().context));
  const auto special = SLUICE_TRY(generate::encode_prompt(tokenizer, ""));
  const auto tokens = SLUICE_TRY(generate::encode_plain(tokenizer, text));
  // Where there are special tokens, the last of them stands before the first of the text.
  const std::size_t given = std::max<std::size_t>(special.size(), 1);
  if (given >= window || tokens.size() + special.size() <= given) {
    return invalid_argument("the text has {}: none is foretold from another",
                            counted(std::ssize(tokens), "token"));
  }
  double sum = 0;
  std::int64_t count = 0, windows = 0;
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t end = std::min(tokens.size(), at + window - special.size());
    std::vector<std::int64_t> ids = special;
    ids.insert(ids.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at),
               tokens.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
    if (ids.size() <= given) break;  // a last token without one before it
    const auto logprobs = SLUICE_TRY(generator.score(std::move(ids)));
    for (const float logprob : std::span(logprobs).subspan(given - 1)) sum -= logprob;
    count += std::ssize(logprobs) - static_cast<std::int64_t>(given - 1);
    ++windows;
  }
  return fmt::format("perplexity {:.4f} of {} in {} of {}",
                     std::exp(sum / static_cast<double>(count)), counted(count, "token"),
                     counted(windows, "window"), window);
}

}  // namespace sluice::tool
