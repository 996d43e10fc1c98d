// A value alone in a file, as ONNX's test data keeps inputs and outputs.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/attribute.h"

namespace sluice::onnx {

/// A tensor, a sequence of tensors, or an optional without an element.
struct FileValue {
  std::optional<ir::Constant> tensor;
  std::optional<std::vector<ir::Constant>> sequence;
};

/// Reads what a file holds, told by `type`: the file does not say. Optionals stand as optionals in
/// the file; what an operand of unknown type holds is read as a tensor.
/// Fails: kInvalidArgument for a file that holds no such value; kUnimplemented for maps and
///        sequences of other things than tensors.
Result<FileValue> read_value_file(const std::filesystem::path& path, const ir::Type& type);

}  // namespace sluice::onnx
