#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json_reader.h"
#include "sluice/cli/command.h"
#include "sluice/language/text_files.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::tool {
namespace {

/// Numbers between spaces or commas.
Result<std::vector<text::TokenId>> parse_ids(std::string_view list) {
  std::vector<text::TokenId> ids;
  while (true) {
    const std::size_t begin = list.find_first_not_of(" ,\n\t");
    if (begin == std::string_view::npos) return ids;
    list.remove_prefix(begin);
    std::int32_t id = 0;
    const auto end = std::from_chars(list.data(), list.data() + list.size(), id);
    const auto size = static_cast<std::size_t>(end.ptr - list.data());
    if (end.ec != std::errc() || id < 0 ||
        (size < list.size() &&
         std::string_view(" ,\n\t").find(list[size]) == std::string_view::npos)) {
      return invalid_argument("\"{}\" is no list of ids, such as \"15496 995\"",
                              list.substr(0, 40));
    }
    ids.emplace_back(id);
    list.remove_prefix(size);
  }
}

class TokenizeCommand : public Command {
 public:
  const char* name() const override { return "tokenize"; }

  void add_options(Options& options) override {
    options
        .add("path", path_,
             "A tokenizer.json, a folder that has one, a GGUF file, or a .sluice file")
        .required();
    options.add("text", text_, "The text, or with --decode the ids");
    options.flag("--decode", decodes_, "Print what a list of ids says");
    options.flag("--chat", is_chat_,
                 "Print messages as the model reads them, by the chat template of the model: the "
                 "text is a JSON list of them, or an object with messages, tools and variables");
    options.flag("--no-special", is_plain_,
                 "Add no special tokens, and read none in the text; when decoding, print them");
    options.flag(
        "--json-lines", reads_lines_,
        "Read texts from stdin, each a line with a JSON string, and print a JSON list of ids "
        "for each; with --decode, read lists and print strings; with --chat, read chats");
  }

  Result<int> run() override {
    const TextFiles files = SLUICE_TRY(read_text_files(path_));
    if (is_chat_) {
      if (decodes_) return invalid_argument("--chat and --decode exclude each other");
      const auto chat_template = SLUICE_TRY(chat_template_of(files).with_context(path_));
      if (reads_lines_) {
        return run_lines([&](const std::string& line) { return laid_out(chat_template, line); });
      }
      const auto text = SLUICE_TRY(laid_out(chat_template, text_));
      fmt::print("{}\n", text.get_ref<const std::string&>());
      return 0;
    }
    const auto tokenizer = SLUICE_TRY(tokenizer_of(files).with_context(path_));
    if (reads_lines_) {
      return run_lines([&](const std::string& line) { return answer(tokenizer, line); });
    }
    if (decodes_) {
      const auto ids = SLUICE_TRY(parse_ids(text_));
      fmt::print("{}\n", SLUICE_TRY(decode(tokenizer, ids)));
      return 0;
    }
    const auto ids = SLUICE_TRY(encode(tokenizer, text_));
    for (const text::TokenId id : ids) {
      const auto piece = nlohmann::json(std::string(tokenizer.find_piece(id).value_or("")));
      fmt::print("{:>7}  {}\n", id.value(), piece.dump());
    }
    return 0;
  }

 private:
  Result<std::vector<text::TokenId>> encode(const text::Tokenizer& tokenizer,
                                            std::string_view text) const {
    return tokenizer.encode(
        text, {.adds_special_tokens = !is_plain_, .finds_special_tokens = !is_plain_});
  }

  Result<std::string> decode(const text::Tokenizer& tokenizer,
                             std::span<const text::TokenId> ids) const {
    return tokenizer.decode(ids, {.skips_special_tokens = !is_plain_});
  }

  Result<nlohmann::json> answer(const text::Tokenizer& tokenizer, const std::string& line) const {
    const auto given = SLUICE_TRY(parse_json(line));
    if (!decodes_) {
      if (!given.is_string()) return invalid_argument("a line is no JSON string");
      nlohmann::json numbers = nlohmann::json::array();
      const auto ids = SLUICE_TRY(encode(tokenizer, given.get_ref<const std::string&>()));
      for (const text::TokenId id : ids) numbers.push_back(id.value());
      return numbers;
    }
    std::vector<text::TokenId> ids;
    const auto items = SLUICE_TRY(JsonValue(given, "ids").as_items(kMaxIds));
    for (const JsonValue& item : items) {
      ids.emplace_back(
          static_cast<std::int32_t>(SLUICE_TRY(item.as_int(0, text::kMaxTokenId - 1))));
    }
    return nlohmann::json(SLUICE_TRY(decode(tokenizer, ids)));
  }

  static Result<nlohmann::json> laid_out(const text::ChatTemplate& chat_template,
                                         const std::string& line) {
    const text::Chat chat = SLUICE_TRY(text::parse_chat(line));
    return nlohmann::json(SLUICE_TRY(chat_template.render(chat)));
  }

  template <typename Answer>
  static Result<int> run_lines(const Answer& answer) {
    std::string line;
    for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
      const auto json = SLUICE_TRY(answer(line).with_context(fmt::format("line {}", number)));
      fmt::print("{}\n", json.dump());
    }
    return 0;
  }

  static constexpr std::size_t kMaxIds = std::size_t{1} << 24U;

  std::string path_;
  std::string text_;
  bool decodes_ = false;
  bool is_chat_ = false;
  bool is_plain_ = false;
  bool reads_lines_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tokenize_command() { return std::make_unique<TokenizeCommand>(); }

}  // namespace sluice::tool
