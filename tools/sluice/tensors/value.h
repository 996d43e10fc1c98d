// Values of a model as a command reads and writes them: tensors, and sequences of tensors.
#pragma once

#include <optional>
#include <vector>

#include "exec/value.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// A tensor or a sequence of tensors; neither for an empty optional. Strings are packed as in
/// ir::Constant.
struct Value {
  std::optional<ir::Constant> tensor;
  std::optional<std::vector<ir::Constant>> sequence;
};

/// A view of the constant's bytes, which are only read.
terms::TensorView view_of(const ir::Constant& constant);

/// A copy of what the view shows.
ir::Constant copy_of(const terms::TensorView& view);

/// A copy for a context. Fails: kResourceExhausted.
Result<exec::Value> as_exec_value(const Value& value);

}  // namespace sluice::tool
