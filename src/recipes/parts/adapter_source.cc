#include "recipes/parts/adapter_source.h"

namespace sluice::recipes {

Result<AdapterSource> AdapterSource::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return invalid_argument("\"{}\" is not NAME=FOLDER, such as sql=adapters/sql", text);
  }
  return AdapterSource{std::string(text.substr(0, equals)), text.substr(equals + 1)};
}

std::vector<std::filesystem::path> AdapterSource::files() const {
  return {folder / "adapter_config.json", folder / "adapter_model.safetensors"};
}

}  // namespace sluice::recipes
