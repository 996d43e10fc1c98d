#include "generate/text/package_text.h"

#include <string>
#include <string_view>

#include "generate/sampler.h"

namespace sluice::generate {
namespace {

constexpr const char* kTokenizerFile = "tokenizer.json";

/// Empty if the package has no such file.
Result<std::string_view> find_file(const package::Executable& executable, const char* name) {
  const auto found = executable.files.find(name);
  if (found == executable.files.end()) return std::string_view();
  const Bytes& file = found->second;
  SLUICE_TRY(executable.verify(file, name));
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
}

Result<std::vector<std::int64_t>> encode(const text::Tokenizer& tokenizer, std::string_view text,
                                         bool adds_special_tokens) {
  std::vector<std::int64_t> ids;
  const text::EncodeOptions options = {.adds_special_tokens = adds_special_tokens};
  for (const text::TokenId id : SLUICE_TRY(tokenizer.encode(text, options))) {
    ids.push_back(id.value());
  }
  return ids;
}

}  // namespace

bool has_tokenizer(const package::Executable& executable) {
  return executable.files.contains(kTokenizerFile);
}

Result<text::Tokenizer> read_tokenizer(const package::Executable& executable) {
  const std::string_view file = SLUICE_TRY(find_file(executable, kTokenizerFile));
  if (file.empty()) {
    return invalid_argument("the model has no {}, so it takes and gives ids of tokens alone",
                            kTokenizerFile);
  }
  return text::Tokenizer::read(file).with_context(kTokenizerFile);
}

Result<text::ChatTemplate> read_chat_template(const package::Executable& executable) {
  text::ChatFiles files;
  files.template_file = SLUICE_TRY(find_file(executable, "chat_template.jinja"));
  files.tokenizer_config = SLUICE_TRY(find_file(executable, "tokenizer_config.json"));
  files.special_tokens = SLUICE_TRY(find_file(executable, "special_tokens_map.json"));
  return text::ChatTemplate::read(files);
}

Result<std::vector<std::int64_t>> encode_prompt(const text::Tokenizer& tokenizer,
                                                std::string_view prompt) {
  return encode(tokenizer, prompt, /*adds_special_tokens=*/true);
}

Result<std::vector<std::int64_t>> encode_plain(const text::Tokenizer& tokenizer,
                                               std::string_view text) {
  return encode(tokenizer, text, /*adds_special_tokens=*/false);
}

Result<std::vector<std::int64_t>> encode_chat(const text::Tokenizer& tokenizer,
                                              const text::ChatTemplate& chat_template,
                                              const text::Chat& chat) {
  auto rendered = chat_template.render(chat).with_context("the model's chat template");
  return encode(tokenizer, SLUICE_TRY(std::move(rendered)), /*adds_special_tokens=*/false);
}

Result<std::vector<std::vector<std::int64_t>>> encode_bad_words(
    const text::Tokenizer& tokenizer, const std::vector<std::string>& words) {
  constexpr std::size_t kMost = Sampling::kMaxBadWords / 2;
  if (words.size() > kMost) {
    return invalid_argument("bad_words: {} texts; at most {} are taken", words.size(), kMost);
  }
  std::vector<std::vector<std::int64_t>> all;
  for (const std::string& word : words) {
    if (word.empty()) return invalid_argument("bad_words: a text is empty");
    all.push_back(SLUICE_TRY(encode(tokenizer, word, /*adds_special_tokens=*/false)));
    // Many tokenizers have tokens for a word with the space before it.
    all.push_back(SLUICE_TRY(encode(tokenizer, " " + word, /*adds_special_tokens=*/false)));
  }
  return all;
}

}  // namespace sluice::generate
