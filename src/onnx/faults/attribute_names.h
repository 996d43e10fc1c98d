// Which attributes a node of a file may have.
#pragma once

#include "base/status.h"
#include "onnx/proto/names.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// Refuses operators and attributes that only Sluice itself writes, and attributes that the
/// operator does not have in the imported opset, as the standard's checker does. An operator of a
/// program, and one that no standard has, may have any other attribute.
/// Fails: kInvalidArgument naming all such attributes, and for each where it went or what is
///        similar; the node is the caller's to name.
Status check_attribute_names(const pb::NodeProto& node, const Opsets& opsets);

}  // namespace sluice::onnx
