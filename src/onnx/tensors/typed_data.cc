#include "onnx/tensors/typed_data.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "ir/texts.h"

namespace sluice::onnx {
namespace {

/// Each value stored as a `Stored`; `wanted` values are needed.
template <typename Stored, typename Field>
Result<Bytes> pack(const google::protobuf::RepeatedField<Field>& values, std::int64_t wanted) {
  if (values.size() != wanted) {
    return invalid_argument("has {} values; type and shape need {}", values.size(), wanted);
  }
  std::vector<std::byte> data(static_cast<std::size_t>(wanted) * sizeof(Stored));
  std::byte* out = data.data();
  for (const Field value : values) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(out, &stored, sizeof(Stored));
    out += sizeof(Stored);
  }
  return Bytes::own(std::move(data));
}

Result<Bytes> pack_int32_data(const pb::TensorProto& tensor, int bits, std::int64_t count) {
  switch (bits) {
    case 32: return pack<std::int32_t>(tensor.int32_data(), count);
    case 16: return pack<std::uint16_t>(tensor.int32_data(), count);
    case 8: return pack<std::uint8_t>(tensor.int32_data(), count);
    default: {  // 4 or 2: each value holds a byte of packed elements
      const int per_byte = 8 / bits;
      return pack<std::uint8_t>(tensor.int32_data(), count / per_byte + (count % per_byte != 0));
    }
  }
}

}  // namespace

Result<Bytes> read_typed_data(const pb::TensorProto& tensor, ir::ElementType element,
                              std::int64_t count) {
  switch (element) {
    case ir::ElementType::kF32: return pack<float>(tensor.float_data(), count);
    case ir::ElementType::kF64: return pack<double>(tensor.double_data(), count);
    case ir::ElementType::kI64: return pack<std::int64_t>(tensor.int64_data(), count);
    case ir::ElementType::kU64: return pack<std::uint64_t>(tensor.uint64_data(), count);
    case ir::ElementType::kU32: return pack<std::uint32_t>(tensor.uint64_data(), count);
    // Real and imaginary parts alternate. `count` elements were found to fit 64 bits in bytes.
    case ir::ElementType::kC64: return pack<float>(tensor.float_data(), 2 * count);
    case ir::ElementType::kC128: return pack<double>(tensor.double_data(), 2 * count);
    default: return pack_int32_data(tensor, ir::element_bits(element), count);
  }
}

Result<Bytes> read_strings(const pb::TensorProto& tensor, std::int64_t count) {
  if (tensor.data_location() == pb::TensorProto::EXTERNAL) {
    return invalid_argument("strings cannot be external data; store them in the model");
  }
  if (tensor.string_data_size() != count) {
    return invalid_argument("has {} strings; its shape needs {}", tensor.string_data_size(), count);
  }
  const auto& texts = tensor.string_data();
  return ir::pack_texts(std::vector<std::string_view>(texts.begin(), texts.end()));
}

}  // namespace sluice::onnx
