#include "generate/package_text.h"

#include <string_view>

namespace sluice::generate {
namespace {

/// Empty if the package has no such file.
Result<std::string_view> find_file(const package::Executable& executable, const char* name) {
  const auto found = executable.files.find(name);
  if (found == executable.files.end()) return std::string_view();
  const Bytes& file = found->second;
  SLUICE_TRY(executable.verify(file, name));
  return std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
}

}  // namespace

Result<text::Tokenizer> read_tokenizer(const package::Executable& executable) {
  constexpr const char* kFile = "tokenizer.json";
  const std::string_view file = SLUICE_TRY(find_file(executable, kFile));
  if (file.empty()) {
    return invalid_argument("the model has no {}, so it takes and gives ids of tokens alone",
                            kFile);
  }
  return text::Tokenizer::read(file).with_context(kFile);
}

Result<text::ChatTemplate> read_chat_template(const package::Executable& executable) {
  text::ChatFiles files;
  files.template_file = SLUICE_TRY(find_file(executable, "chat_template.jinja"));
  files.tokenizer_config = SLUICE_TRY(find_file(executable, "tokenizer_config.json"));
  files.special_tokens = SLUICE_TRY(find_file(executable, "special_tokens_map.json"));
  return text::ChatTemplate::read(files);
}

}  // namespace sluice::generate
