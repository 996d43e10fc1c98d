// The value of a `Constant` node.
#pragma once

#include "base/result.h"
#include "ir/attribute.h"
#include "onnx/proto/proto.h"
#include "onnx/tensors/tensor.h"

namespace sluice::onnx {

/// From exactly one of value, sparse_value, value_int(s), value_float(s), value_string(s), given
/// as read attributes: tensors are constants already.
/// Fails: kInvalidArgument.
Result<ir::Constant> constant_of(const ir::Attributes& attributes);

}  // namespace sluice::onnx
