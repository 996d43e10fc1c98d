// Where an adapter of a language model lies.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::recipes {

/// A folder of PEFT, and what texts call the adapter.
struct AdapterSource {
  std::string name;
  std::filesystem::path folder;

  /// Reads "NAME=FOLDER". Fails: kInvalidArgument for another text.
  static Result<AdapterSource> parse(std::string_view text);
  /// adapter_config.json and adapter_model.safetensors.
  std::vector<std::filesystem::path> files() const;
};

}  // namespace sluice::recipes
