#include "onnx/tensors/tensor.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "onnx/tensors/typed_data.h"

namespace sluice::onnx {
namespace {

constexpr int kMaxRank = 64;

Result<ir::Shape> read_dims(const pb::TensorProto& tensor) {
  if (tensor.dims_size() > kMaxRank) {
    return invalid_argument("has {} dimensions; at most {} are supported", tensor.dims_size(),
                            kMaxRank);
  }
  ir::Shape shape;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0) return invalid_argument("has a negative dimension, {}", dim);
    shape.emplace_back(dim);
  }
  return shape;
}

/// Takes the string's memory.
Bytes own_string(std::string&& text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::span<const char> view(*owner);
  return Bytes(std::move(owner), std::as_bytes(view));
}

/// Backends read integers of a graph at once, wherever they lie, and weights only when they are
/// packed, from an aligned copy.
Bytes align_integers(Bytes data, ir::ElementType element) {
  const bool is_weight = element == ir::ElementType::kF32 || element == ir::ElementType::kF16 ||
                         element == ir::ElementType::kBf16 || ir::element_bits(element) <= 8;
  constexpr std::uintptr_t kAlignment = 16;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data.data()) % kAlignment == 0;
  if (is_weight || is_aligned) return data;
  return MutableBytes::copy_of(data.view()).freeze();
}

}  // namespace

Result<Bytes> TensorReader::read_bytes(pb::TensorProto& tensor, ir::ElementType element,
                                       std::int64_t count) {
  if (element == ir::ElementType::kString) return read_strings(tensor, count);
  const auto size_bytes = ir::storage_bytes(element, count);
  if (!size_bytes) return invalid_argument("has a size that overflows 64 bits");
  if (tensor.data_location() == pb::TensorProto::EXTERNAL) {
    return external_.read(tensor, *size_bytes, std::max(1, ir::element_bits(element) / 8));
  }
  const auto apart = raw_data_.find(&tensor);
  if (apart == raw_data_.end() && !tensor.has_raw_data()) {
    return read_typed_data(tensor, element, count);
  }
  const std::size_t held =
      apart != raw_data_.end() ? apart->second.size() : tensor.raw_data().size();
  if (static_cast<std::int64_t>(held) != *size_bytes) {
    return invalid_argument("has {} bytes of data; type and shape need {}", held, *size_bytes);
  }
  if (apart != raw_data_.end()) return align_integers(apart->second, element);
  // protobuf's string becomes the constant: no copy.
  return own_string(std::move(*tensor.mutable_raw_data()));
}

Result<ir::Constant> TensorReader::convert(pb::TensorProto& tensor) {
  const auto element = ir::element_type_from_onnx(tensor.data_type());
  if (!element) return invalid_argument("has the unknown element type {}", tensor.data_type());
  if (tensor.has_segment()) return unimplemented("is split into segments; store it whole");
  ir::Shape shape = SLUICE_TRY(read_dims(tensor));
  const auto count = ir::num_elements(shape);
  if (!count) {
    return invalid_argument("shape {} has more elements than 64 bits count",
                            ir::shape_to_string(shape));
  }
  Bytes data = SLUICE_TRY(read_bytes(tensor, *element, *count));
  return ir::Constant{ir::Type::tensor(*element, std::move(shape)), std::move(data)};
}

Result<ir::Constant> TensorReader::read(pb::TensorProto& tensor) {
  // By address: a function's tensor is read at each of its calls.
  const auto known = constants_.find(&tensor);
  if (known != constants_.end()) return known->second;
  ir::Constant constant =
      SLUICE_TRY(convert(tensor).with_context("tensor \"" + tensor.name() + "\""));
  constants_.emplace(&tensor, constant);
  return constant;
}

namespace {

constexpr std::int64_t kMaxDenseBytes = std::int64_t{1} << 30;

/// Row-major positions of the values in a tensor of these dimensions.
Result<std::vector<std::int64_t>> positions(const ir::Constant& indices, std::int64_t num_values,
                                            const std::vector<std::int64_t>& dims,
                                            std::int64_t count) {
  const auto numbers = ir::integer_values(indices);
  if (!numbers || indices.type.element() != ir::ElementType::kI64) {
    return invalid_argument("its indices are not i64");
  }
  const bool is_linear = indices.type.shape()->size() == 1;
  const std::size_t width = is_linear ? 1 : dims.size();
  const auto rank = static_cast<std::int64_t>(dims.size());
  const ir::Shape wanted = is_linear ? ir::Shape{num_values} : ir::Shape{num_values, rank};
  if (*indices.type.shape() != wanted) {
    return invalid_argument("its indices have shape {}; {} values of rank {} need {}",
                            ir::shape_to_string(*indices.type.shape()), num_values, dims.size(),
                            ir::shape_to_string(wanted));
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(num_values));
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < width; ++axis) {
      const std::int64_t index = (*numbers)[i * width + axis];
      const std::int64_t limit = is_linear ? count : dims[axis];
      if (index < 0 || index >= limit) {
        return invalid_argument("index {} is not below {}", index, limit);
      }
      position = is_linear ? index : position * limit + index;
    }
    result[i] = position;
  }
  return result;
}

}  // namespace

Result<ir::Constant> TensorReader::read_dense(pb::SparseTensorProto& tensor) {
  const auto known = constants_.find(&tensor);
  if (known != constants_.end()) return known->second;
  const std::string context = "sparse tensor \"" + tensor.values().name() + "\"";
  const ir::Constant values = SLUICE_TRY(read(*tensor.mutable_values()));
  const ir::Constant indices = SLUICE_TRY(read(*tensor.mutable_indices()));
  const std::vector<std::int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const auto count = checked_product(dims);
  const ir::ElementType element = values.type.element();
  const auto size_bytes = count ? ir::storage_bytes(element, *count) : std::nullopt;
  if (!size_bytes || ir::element_bits(element) % 8 != 0 || values.type.shape()->size() != 1) {
    return invalid_argument("{}: no list of numbers and a shape it fits", context);
  }
  // A few bytes of a sparse tensor can name a dense one of any size; the limit is for the whole
  // model.
  if (*size_bytes > kMaxDenseBytes - dense_bytes_) {
    return make_error(Code::kResourceExhausted,
                      "{}: the model's sparse tensors need more than {} bytes; store them densely",
                      context, kMaxDenseBytes);
  }
  dense_bytes_ += *size_bytes;
  const auto width = static_cast<std::size_t>(ir::element_bits(element) / 8);
  const auto places =
      SLUICE_TRY(positions(indices, *ir::num_elements(*values.type.shape()), dims, *count)
                     .with_context(context));
  std::vector<std::byte> dense(static_cast<std::size_t>(*size_bytes));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::memcpy(dense.data() + static_cast<std::size_t>(places[i]) * width,
                values.data.data() + i * width, width);
  }
  ir::Constant constant{ir::Type::tensor(element, ir::Shape(dims.begin(), dims.end())),
                        Bytes::own(std::move(dense))};
  constants_.emplace(&tensor, constant);
  return constant;
}

}  // namespace sluice::onnx
