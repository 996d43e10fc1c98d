#include "rpc/server/open_inference/typed_contents.h"

#include <limits>
#include <vector>

#include "open_inference/texts.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::server {
namespace {

using ir::ElementType;

/// The elements as they are.
template <typename T, typename Field>
std::string copy(const Field& field) {
  return {reinterpret_cast<const char*>(field.data()),
          static_cast<std::size_t>(field.size()) * sizeof(T)};
}

/// Elements of a narrower type than their field's.
template <typename T, typename Field>
Result<std::string> narrow(const Field& field) {
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(field.size()) * sizeof(T));
  for (const auto value : field) {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      return terms::runtime_error(RuntimeCode::kBadInput, "{} does not fit the type", value);
    }
    const auto element = static_cast<T>(value);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
  }
  return bytes;
}

std::string texts(const inference::InferTensorContents& contents) {
  const auto& field = contents.bytes_contents();
  const std::vector<std::string_view> all(field.begin(), field.end());
  return open_inference::write_texts(all);
}

int num_fields(const inference::InferTensorContents& from) {
  const auto one = [](int size) { return size > 0 ? 1 : 0; };
  return one(from.bool_contents_size()) + one(from.int_contents_size()) +
         one(from.int64_contents_size()) + one(from.uint_contents_size()) +
         one(from.uint64_contents_size()) + one(from.fp32_contents_size()) +
         one(from.fp64_contents_size()) + one(from.bytes_contents_size());
}

Result<std::string> convert(const inference::InferTensorContents& from, ElementType type) {
  switch (type) {
    case ElementType::kBool: return copy<bool>(from.bool_contents());
    case ElementType::kI8: return narrow<std::int8_t>(from.int_contents());
    case ElementType::kI16: return narrow<std::int16_t>(from.int_contents());
    case ElementType::kI32: return copy<std::int32_t>(from.int_contents());
    case ElementType::kI64: return copy<std::int64_t>(from.int64_contents());
    case ElementType::kU8: return narrow<std::uint8_t>(from.uint_contents());
    case ElementType::kU16: return narrow<std::uint16_t>(from.uint_contents());
    case ElementType::kU32: return copy<std::uint32_t>(from.uint_contents());
    case ElementType::kU64: return copy<std::uint64_t>(from.uint64_contents());
    case ElementType::kF32: return copy<float>(from.fp32_contents());
    case ElementType::kF64: return copy<double>(from.fp64_contents());
    case ElementType::kString: return texts(from);
    default: break;
  }
  return terms::runtime_error(RuntimeCode::kBadInput,
                              "{} has no field in contents; send raw_input_contents",
                              ir::element_type_name(type));
}

}  // namespace

Result<std::string> bytes_of(const inference::InferTensorContents& contents, ElementType type) {
  std::string bytes = SLUICE_TRY(convert(contents, type));
  // Elements in a field of another type would be ignored otherwise.
  if (num_fields(contents) > (bytes.empty() ? 0 : 1)) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "contents has elements in a field that is not for {}",
                                ir::element_type_name(type));
  }
  return bytes;
}

bool has_elements(const inference::InferTensorContents& contents) {
  return num_fields(contents) > 0;
}

}  // namespace sluice::rpc::server
