// AttributeProto to ir::Attribute, for all kinds but graphs.
#pragma once

#include "base/result.h"
#include "ir/attribute.h"
#include "onnx/proto/proto.h"
#include "onnx/tensors/tensor.h"
#include "onnx/type.h"

namespace sluice::onnx {

/// The attribute's kind; of files older than the field, what its filled field says. UNDEFINED if
/// nothing is filled.
pb::AttributeProto::AttributeType attribute_kind(const pb::AttributeProto& attribute);

/// Requires: the attribute holds no graph and no reference to a function's parameter.
/// Fails: kInvalidArgument naming the attribute.
Result<ir::Attribute> read_attribute(pb::AttributeProto& attribute, TensorReader& tensors,
                                     TypeReader& types);

}  // namespace sluice::onnx
