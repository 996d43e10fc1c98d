// Initializers that callers may override.
//
// Since IR version 4 an initializer that is also a graph input is the input's default value.
// Before, every initializer had to be an input, so it says nothing. Exporters kept the habit for
// years, and an input cannot be folded or packed: a file that lists its weights as inputs would run
// slowly for callers who never give them. "auto" tells the two by number and size, and knows the
// habit in small files, too: every initializer is an input. Weights of layers are constants there.
#pragma once

#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

struct Overridable {
  std::set<std::string> names;  ///< of initializers that stay inputs
  std::size_t num_fixed = 0;    ///< others that could be
};

/// `wanted`: names, or one of "all", "none" and "auto"; see ImportOptions. An initializer that is
/// also an output, or holds strings, is a constant.
/// Fails: kInvalidArgument for another name, with the names of overridable initializers.
Result<Overridable> find_overridable(const pb::ModelProto& model,
                                     std::span<const std::string> wanted);

}  // namespace sluice::onnx
