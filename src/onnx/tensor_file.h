// A tensor alone in a file, as ONNX's test data keeps inputs and outputs.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "ir/attribute.h"

namespace sluice::onnx {

/// Fails: kInvalidArgument for a file that holds no TensorProto, a sequence among them.
Result<ir::Constant> read_tensor_file(const std::filesystem::path& path);

}  // namespace sluice::onnx
