// A model's config.pbtxt, as far as Sluice has what it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dispatch/traffic.h"
#include "terms/load.h"
#include "terms/server/declared_model.h"
#include "terms/tensors/signature.h"

namespace sluice::repository {

using terms::VersionPolicy;

struct ModelConfig : terms::DeclaredModel {
  std::string name;  ///< empty: the folder's
  /// Size of the first dimension of all inputs, where the model fixes it; 0: any.
  std::int64_t batch_size = 0;
  /// Depth, waiting line and joining of rows.
  terms::LoadOptions options;
  dispatch::Traffic traffic;
  /// The fields that a load depends on.
  std::string load_text;
  /// Fields without effect, each with its line.
  std::vector<std::string> warnings;
};

/// The fields are those of Triton's model_config.proto (docs/open-inference.md lists them).
/// Fails: kInvalidArgument naming the line; kUnimplemented for what would change the answers, such
///        as an ensemble.
Result<ModelConfig> read_model_config(std::string_view text);

}  // namespace sluice::repository
