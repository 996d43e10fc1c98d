// Architectures of GGUF files that recipes know.
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sluice::recipes {

using NamePair = std::pair<std::string_view, std::string_view>;

struct Architecture {
  std::string_view name;                 ///< general.architecture
  std::string_view family;               ///< model_type of its recipe
  std::string_view mixture = {};         ///< model_type of one with experts; empty: `family`
  bool is_interleaved = false;           ///< pairs that turn together are neighbours
  std::span<const NamePair> names = {};  ///< of tensors, before those of all
};

/// Fails: kInvalidArgument   general.architecture is missing
///        kUnimplemented     no recipe knows it
Result<Architecture> architecture_of(const nlohmann::json& metadata);

/// A tensor's name in files of transformers; one that is not known stays.
std::string name_of_transformers(const Architecture& architecture, const std::string& name);

}  // namespace sluice::recipes
