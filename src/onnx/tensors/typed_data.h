// Tensor data that is not raw: one repeated field per group of element types.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "ir/element_type.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// `count` elements packed as ir::Constant wants them. Requires: `element` is no string.
/// Fails: kInvalidArgument if the field has another number of values.
Result<Bytes> read_typed_data(const pb::TensorProto& tensor, ir::ElementType element,
                              std::int64_t count);

/// `count` strings as offsets and bytes.
Result<Bytes> read_strings(const pb::TensorProto& tensor, std::int64_t count);

}  // namespace sluice::onnx
