// How a package's model reads and writes text: the files that the compiler took from its folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "package/executable.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::generate {

/// Without a tokenizer a model takes and gives ids of tokens alone.
bool has_tokenizer(const package::Executable& executable);

/// Fails: kInvalidArgument if the package has none; kDataLoss for bytes that changed;
///        as `text::Tokenizer::read`.
Result<text::Tokenizer> read_tokenizer(const package::Executable& executable);

/// Fails: kNotFound if the package has none; kDataLoss for bytes that changed;
///        as `text::ChatTemplate::read`.
Result<text::ChatTemplate> read_chat_template(const package::Executable& executable);

/// The tokens of a prompt, with the special ones that the model wants. Fails: as the tokenizer.
Result<std::vector<std::int64_t>> encode_prompt(const text::Tokenizer& tokenizer,
                                                std::string_view prompt);
/// The tokens of a text alone. Fails: as the tokenizer.
Result<std::vector<std::int64_t>> encode_plain(const text::Tokenizer& tokenizer,
                                               std::string_view text);
/// The tokens of a chat as the model reads it; its template writes the special ones.
/// Fails: as the template and the tokenizer.
Result<std::vector<std::int64_t>> encode_chat(const text::Tokenizer& tokenizer,
                                              const text::ChatTemplate& chat_template,
                                              const text::Chat& chat);

/// For Sampling: the tokens of each word as it stands at the begin of a text, and behind a space.
/// Fails: kInvalidArgument for an empty word, or more than kMaxBadWords / 2; as the tokenizer.
Result<std::vector<std::vector<std::int64_t>>> encode_bad_words(
    const text::Tokenizer& tokenizer, const std::vector<std::string>& words);

}  // namespace sluice::generate
