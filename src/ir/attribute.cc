#include "ir/attribute.h"

#include <cstring>

#include "ir/numbers/short_float.h"

namespace sluice::ir {
namespace {

template <typename T>
Constant make_constant(ElementType element, const std::vector<T>& values, Shape shape) {
  std::vector<std::byte> data(values.size() * sizeof(T));
  if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
  return Constant{Type::tensor(element, std::move(shape)), Bytes::own(std::move(data))};
}

template <typename Stored, typename Wide, typename Convert>
std::vector<Wide> widen_with(const Constant& constant, const Convert& convert) {
  std::vector<Wide> values(constant.data.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored element;
    // A constant may lie in a mapped file, at an address that is not aligned for the type.
    std::memcpy(&element, constant.data.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = static_cast<Wide>(convert(element));
  }
  return values;
}

template <typename Stored, typename Wide>
std::vector<Wide> widen(const Constant& constant) {
  return widen_with<Stored, Wide>(constant, [](Stored element) { return element; });
}

}  // namespace

Constant make_i64_constant(const std::vector<std::int64_t>& values, Shape shape) {
  return make_constant(ElementType::kI64, values, std::move(shape));
}

Constant make_f32_constant(const std::vector<float>& values, Shape shape) {
  return make_constant(ElementType::kF32, values, std::move(shape));
}

bool is_left_out(const Constant& constant) {
  if (constant.data.size() > 0 || !constant.type.is_tensor() || !constant.type.is_static()) {
    return false;
  }
  // A tensor without strings still has one offset.
  return constant.type.element() != ElementType::kString &&
         storage_bytes(constant.type).value_or(0) > 0;
}

std::optional<std::vector<std::int64_t>> integer_values(const Constant& constant) {
  if (is_left_out(constant)) return std::nullopt;
  switch (constant.type.element()) {
    case ElementType::kI64: return widen<std::int64_t, std::int64_t>(constant);
    case ElementType::kI32: return widen<std::int32_t, std::int64_t>(constant);
    case ElementType::kI16: return widen<std::int16_t, std::int64_t>(constant);
    case ElementType::kI8: return widen<std::int8_t, std::int64_t>(constant);
    case ElementType::kU32: return widen<std::uint32_t, std::int64_t>(constant);
    case ElementType::kU16: return widen<std::uint16_t, std::int64_t>(constant);
    case ElementType::kU8:
    case ElementType::kBool: return widen<std::uint8_t, std::int64_t>(constant);
    default: return std::nullopt;
  }
}

std::optional<std::vector<double>> float_values(const Constant& constant) {
  if (is_left_out(constant)) return std::nullopt;
  switch (constant.type.element()) {
    case ElementType::kF32: return widen<float, double>(constant);
    case ElementType::kF64: return widen<double, double>(constant);
    case ElementType::kF16: return widen_with<std::uint16_t, double>(constant, widen_f16);
    case ElementType::kBf16: return widen_with<std::uint16_t, double>(constant, widen_bf16);
    default: return std::nullopt;
  }
}

void Attributes::erase(std::string_view name) {
  const auto it = map_.find(name);
  if (it != map_.end()) map_.erase(it);
}

}  // namespace sluice::ir
