#include "sluice/language/text_files.h"

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "package/package.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizer = "tokenizer.json";
constexpr std::array kNames = {kTokenizer, "tokenizer_config.json", "chat_template.jinja",
                               "special_tokens_map.json"};

Result<TextFiles> read_folder(const fs::path& folder) {
  TextFiles files;
  for (const char* name : kNames) {
    std::error_code error;
    if (fs::exists(folder / name, error)) files.emplace(name, SLUICE_TRY(map_file(folder / name)));
  }
  return files;
}

Result<TextFiles> read_package(const Bytes& file) {
  const auto executable = SLUICE_TRY(package::parse_package(file));
  for (const auto& [name, bytes] : executable.files) SLUICE_TRY(executable.verify(bytes, name));
  return TextFiles(executable.files.begin(), executable.files.end());
}

std::string_view text_of(const Bytes& file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

/// Empty if there is none.
std::string_view text_of(const TextFiles& files, const char* name) {
  const auto found = files.find(name);
  return found == files.end() ? std::string_view() : text_of(found->second);
}

}  // namespace

Result<TextFiles> read_text_files(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return read_folder(path);
  Bytes file = SLUICE_TRY(map_file(path));
  if (is_package(file)) return read_package(file).with_context(path.string());
  if (text_of(file).starts_with("GGUF")) return read_gguf_text(file).with_context(path.string());
  return TextFiles{{kTokenizer, std::move(file)}};
}

Result<text::Tokenizer> tokenizer_of(const TextFiles& files) {
  const std::string_view file = text_of(files, kTokenizer);
  if (file.empty()) return make_error(Code::kNotFound, "the model has no {}", kTokenizer);
  return text::Tokenizer::read(file).with_context(kTokenizer);
}

Result<text::ChatTemplate> chat_template_of(const TextFiles& files) {
  return text::ChatTemplate::read({text_of(files, "chat_template.jinja"),
                                   text_of(files, "tokenizer_config.json"),
                                   text_of(files, "special_tokens_map.json")});
}

}  // namespace sluice::tool
