// What nodes tell about the program that made them.
#pragma once

#include <string>

#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// "model.py:42 (encoder.layer.3)", or a part of it; "" if the node tells neither. Reads what
/// PyTorch's exporters write: `pkg.torch.onnx.stack_trace`, `pkg.torch.onnx.name_scopes` and
/// `namespace` of metadata_props, else the stack trace in the doc string.
std::string describe_source(const pb::NodeProto& node);

}  // namespace sluice::onnx
