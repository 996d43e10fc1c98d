#include "onnx/tensor_file.h"

#include <limits>

#include "base/file.h"
#include "onnx/tensor.h"

namespace sluice::onnx {

Result<ir::Constant> read_tensor_file(const std::filesystem::path& path) {
  const Bytes file = SLUICE_TRY(map_file(path));
  pb::TensorProto tensor;
  const bool fits = file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (!fits || !tensor.ParseFromArray(file.data(), static_cast<int>(file.size())) ||
      tensor.data_type() == 0) {
    return invalid_argument("\"{}\" holds no tensor", path.string());
  }
  return TensorReader(path.parent_path()).read(tensor).with_context(path.string());
}

}  // namespace sluice::onnx
