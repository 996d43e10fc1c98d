// What the Open Inference Protocol says of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/model_ref.h"
#include "ir/element_type.h"
#include "terms/server/server.h"

namespace sluice::open_inference {

inline constexpr std::string_view kServerName = "sluice";

/// Extensions of the protocol that the server has, for its metadata.
const std::vector<std::string_view>& extensions();

struct TensorDescription {
  std::string_view name;  ///< the signature's
  ir::ElementType element = ir::ElementType::kUndefined;
  std::vector<std::int64_t> shape;  ///< -1: any size. Empty for an unknown rank, too
  bool is_optional = false;

  /// The shape as a ModelConfig has it: that of a model that joins requests lacks the rows.
  std::span<const std::int64_t> config_dims(bool joins) const {
    return std::span(shape).subspan(joins && !shape.empty() ? 1 : 0);
  }
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  /// Rows of a joined run; 0: requests run alone. Otherwise the first dimension of every shape is
  /// the number of rows, which a ModelConfig leaves out.
  std::int64_t max_batch_size = 0;
  int depth = 1;                       ///< requests at a time
  std::vector<std::int64_t> versions;  ///< of models with its name; ascending

  bool joins() const { return max_batch_size > 0; }
};

/// Points into the model's signature.
ModelDescription describe(const dispatch::ModelRef& model, std::vector<std::int64_t> versions);

/// Requests of a model since its load, and their times in all.
struct ModelCounts {
  struct Times {
    std::int64_t count = 0;
    std::int64_t ns = 0;
  };
  Times success;
  Times fail;  ///< without times
  Times queue;
  Times copy;  ///< in both directions: the runtime times them together
  Times compute;
};
ModelCounts count(const terms::ModelStatistics& statistics);

/// Whether requests are answered now. A cold function is ready: its first request wakes it.
bool is_ready(const terms::ModelEntry& entry);

/// A version as clients write it; nullopt for an empty text: the server's choice.
/// Fails: kInvalidHandle, with code kNotFound, for what is no version.
Result<std::optional<std::int64_t>> parse_version(std::string_view version);

}  // namespace sluice::open_inference
