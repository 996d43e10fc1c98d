// A model's config.pbtxt, as far as Sluice has what it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/element_type.h"
#include "terms/load.h"
#include "terms/tensors/signature.h"

namespace sluice::repository {

/// Which versions of a model are served.
struct VersionPolicy {
  enum class Kind : std::uint8_t { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  std::int64_t num_latest = 1;         ///< with the highest numbers
  std::vector<std::int64_t> versions;  ///< of kSpecific
};

/// What a configuration says of an input or an output.
struct ConfigTensor {
  std::string name;
  ir::ElementType element = ir::ElementType::kUndefined;  ///< kUndefined: not said
  std::vector<std::int64_t> dims;  ///< -1: any size; without rows where max_batch_size > 0
  int line = 0;
};

struct ModelConfig {
  std::string name;       ///< empty: the folder's
  std::string file_name;  ///< of the file in a version's folder; empty: the usual names
  std::int64_t max_batch_size = 0;
  std::vector<ConfigTensor> inputs;
  std::vector<ConfigTensor> outputs;
  VersionPolicy policy;
  /// Depth, waiting line and joining of rows.
  terms::LoadOptions options;
  /// Fields without effect, each with its line.
  std::vector<std::string> warnings;
};

/// The fields are those of Triton's model_config.proto (docs/open-inference.md lists them).
/// Fails: kInvalidArgument naming the line; kUnimplemented for what would change the answers, such
///        as an ensemble.
Result<ModelConfig> read_model_config(std::string_view text);

/// Whether the model has the tensors that its configuration names. Fails: kInvalidArgument.
Status check_tensors(const ModelConfig& config, const terms::Signature& signature);

}  // namespace sluice::repository
