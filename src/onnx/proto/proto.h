// ONNX's generated classes, as `pb::`. Nothing outside this folder may include this.
#pragma once

#include <onnx/onnx_pb.h>

namespace sluice::onnx {
namespace pb = ::onnx;
}  // namespace sluice::onnx
