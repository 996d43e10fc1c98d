// What a model's configuration declares to clients, beside the model itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ir/element_type.h"

namespace sluice::terms {

/// Which versions of a model are served.
struct VersionPolicy {
  enum class Kind : std::uint8_t { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  std::int64_t num_latest = 1;         ///< with the highest numbers
  std::vector<std::int64_t> versions;  ///< of kSpecific
};

/// Declares an input or an output.
struct DeclaredTensor {
  std::string name;                                       ///< empty: of the only input
  ir::ElementType element = ir::ElementType::kUndefined;  ///< kUndefined: not said
  std::vector<std::int64_t> dims;  ///< -1: any size; without rows where max_batch_size > 0
  std::string format;              ///< "FORMAT_NHWC" or "FORMAT_NCHW" of an image; empty: not said
  std::string label_filename;      ///< of an output's classes, in the model's folder
  /// What that file has, by class; null: no file. Outputs and versions share it.
  std::shared_ptr<const std::vector<std::string>> labels;
  int line = 0;  ///< of config.pbtxt; 0: declared elsewhere
};

/// A tensor of a step's model, and the tensor of the ensemble that it is.
struct EnsembleTensor {
  std::string name;    ///< the model's
  std::string tensor;  ///< the ensemble's
  int line = 0;        ///< of config.pbtxt
};

/// A model that an ensemble runs.
struct EnsembleStep {
  std::string model;
  std::optional<std::int64_t> version;  ///< none: as requests without a version
  std::vector<EnsembleTensor> inputs;
  std::vector<EnsembleTensor> outputs;  ///< others are dropped
  int line = 0;                         ///< of config.pbtxt
};

/// An input that tells a model where in its sequence a request is.
struct SequenceControl {
  enum class Kind : std::uint8_t { kStart, kReady, kEnd, kCorrelationId };
  std::string input;
  Kind kind = Kind::kStart;
  ir::ElementType element = ir::ElementType::kUndefined;
  double false_value = 0;  ///< not of kCorrelationId, as the next one
  double true_value = 1;
  int line = 0;  ///< of config.pbtxt
};

/// An output that the next request of a sequence has as an input.
struct SequenceState {
  std::string input;
  std::string output;
  ir::ElementType element = ir::ElementType::kUndefined;  ///< kUndefined: not said
  std::vector<std::int64_t> dims;                         ///< as DeclaredTensor; empty: not said
  std::vector<std::int64_t> initial_dims;                 ///< of the first value, without -1
  std::string data_file;  ///< of the first value, in the model's folder; empty: zeros
  Bytes initial = {};     ///< what the file has; empty: zeros
  int line = 0;           ///< of config.pbtxt
};

struct SequenceRules {
  bool is_oldest = false;                ///< the strategy's name, for clients; else "direct"
  std::int64_t max_candidates = 0;       ///< of "oldest", for clients
  std::int64_t max_idle_us = 1'000'000;  ///< without a request a sequence ends
  std::vector<SequenceControl> controls;
  std::vector<SequenceState> states;
};

struct DeclaredModel {
  std::string platform;
  std::string backend;
  std::string file_name;            ///< in a version's folder; empty: the usual names
  std::int64_t max_batch_size = 0;  ///< 0: dims have all dimensions
  std::vector<DeclaredTensor> inputs;
  std::vector<DeclaredTensor> outputs;
  VersionPolicy policy;
  std::map<std::string, std::string> parameters;
  std::vector<EnsembleStep> steps;         ///< of an ensemble, which has no file; else none
  std::optional<SequenceRules> sequences;  ///< none: each request is for itself
  std::int64_t num_priorities = 0;         ///< of requests, 1 the highest; 0: any number
  std::int64_t default_priority = 0;       ///< of requests that name none of them; 0: the lowest
  bool keeps_replies = false;              ///< equal requests get the answer of the first
};

}  // namespace sluice::terms
