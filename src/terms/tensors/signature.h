// The inputs and outputs of a model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "terms/tensors/tensor.h"

namespace sluice::terms {

/// One input or output of a model.
struct TensorSpec {
  std::string name;
  ir::Type type;
  /// Axis along which requests may be joined: the leading dimension where it is a symbol; else -1.
  int batch_axis = -1;
  /// Whether a request may leave the input out.
  bool has_default = false;
  /// The value of an input that is left out; null in a client. Shared with the executable.
  std::shared_ptr<const ir::Constant> default_value = nullptr;
};

struct Signature {
  std::vector<TensorSpec> inputs;  ///< those with defaults last
  std::vector<TensorSpec> outputs;
  /// Whether the model was compiled with constants for initializers that its file lists as inputs.
  bool has_fixed_inputs = false;
};

/// What an error about a name that is no input adds: that `name` may be a fixed input, and the
/// option that makes it one of the model. Empty for a model without fixed inputs.
std::string fixed_input_hint(const Signature& signature, std::string_view name);

/// The input of a request that leaves it out, in memory of the model; nullopt if it has no default.
std::optional<TensorView> default_of(const TensorSpec& spec);

}  // namespace sluice::terms
