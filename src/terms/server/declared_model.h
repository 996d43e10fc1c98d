// What a model's configuration declares to clients, beside the model itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/element_type.h"

namespace sluice::terms {

/// Which versions of a model are served.
struct VersionPolicy {
  enum class Kind : std::uint8_t { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  std::int64_t num_latest = 1;         ///< with the highest numbers
  std::vector<std::int64_t> versions;  ///< of kSpecific
};

/// Of an input or an output.
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

struct DeclaredModel {
  std::string platform;
  std::string backend;
  std::string file_name;            ///< in a version's folder; empty: the usual names
  std::int64_t max_batch_size = 0;  ///< 0: dims have all dimensions
  std::vector<DeclaredTensor> inputs;
  std::vector<DeclaredTensor> outputs;
  VersionPolicy policy;
  std::map<std::string, std::string> parameters;
};

}  // namespace sluice::terms
