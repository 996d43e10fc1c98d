// What the Open Inference Protocol says of a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/model_ref.h"
#include "dispatch/traffic.h"
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
  /// The shape as a ModelConfig has it: without the rows where max_batch_size > 0.
  std::vector<std::int64_t> config_dims;
  bool is_optional = false;
  std::string_view format;          ///< of an image: "FORMAT_NCHW"; "FORMAT_NONE" if nobody said
  std::string_view label_filename;  ///< of an output; may be empty
};

struct ModelDescription {
  std::vector<TensorDescription> inputs;
  std::vector<TensorDescription> outputs;
  std::string_view platform;
  std::string_view backend;
  /// Rows of a request; of a joined run where the configuration does not say. 0: tensors need have
  /// no rows. Otherwise the first dimension of every shape is the number of rows, which a
  /// ModelConfig leaves out.
  std::int64_t max_batch_size = 0;
  std::int64_t batch_rows = 0;         ///< of a joined run; 0: requests run alone
  std::int64_t num_slots = 1;          ///< runs at a time
  bool is_decoupled = false;           ///< a text has many answers; whoever serves texts says so
  std::vector<std::int64_t> versions;  ///< of models with its name; ascending
  const terms::DeclaredModel* declared = nullptr;  ///< the rest of what its configuration says
};

/// Points into the model.
ModelDescription describe(const dispatch::ModelRef& model, std::vector<std::int64_t> versions);

/// The names of an output's classes, by class; empty: nobody said. Points into the model.
std::span<const std::string> labels_of(const dispatch::ModelRef& model, std::string_view output);

/// Requests of a model since its load, and their times in all.
struct ModelCounts {
  struct Times {
    std::int64_t count = 0;
    std::int64_t ns = 0;
  };
  Times success;  ///< with those of `hits`
  Times fail;     ///< without times
  Times queue;
  Times copy_in;
  Times compute;
  Times copy_out;
  Times hits;  ///< requests answered by the response cache
  Times misses;
  /// Rows that runs computed, or requests of a model whose requests run alone, as an ensemble's.
  std::int64_t inferences = 0;
  std::int64_t runs = 0;
};
ModelCounts count(const terms::ModelStatistics& statistics);

/// Whether requests are answered now. A cold function is ready: its first request wakes it.
bool is_ready(const terms::ModelEntry& entry);

/// A version as clients write it: a number, a label, or nothing for the server's choice. Borrows
/// the text. Fails: kInvalidHandle, with code kNotFound, for a number that no version has.
Result<dispatch::VersionChoice> parse_version(std::string_view version);

}  // namespace sluice::open_inference
