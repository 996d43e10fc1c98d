#include "ir/element_type.h"

#include <array>

#include "base/checked.h"

namespace sluice::ir {
namespace {

struct Entry {
  std::string_view name;
  int bits;
};

// The index is the number of ONNX's TensorProto.DataType, which packages store. 0 bits: no fixed
// size.
constexpr std::array<Entry, 27> kEntries = {{
    {"undefined", 0},  {"f32", 32},  {"u8", 8},       {"i8", 8},         {"u16", 16},
    {"i16", 16},       {"i32", 32},  {"i64", 64},     {"string", 0},     {"bool", 8},
    {"f16", 16},       {"f64", 64},  {"u32", 32},     {"u64", 64},       {"c64", 64},
    {"c128", 128},     {"bf16", 16}, {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2", 8},
    {"f8e5m2fnuz", 8}, {"u4", 4},    {"i4", 4},       {"f4e2m1", 4},     {"f8e8m0", 8},
    {"u2", 2},         {"i2", 2},
}};

const Entry& entry(ElementType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kEntries.size() ? kEntries[index] : kEntries[0];
}

}  // namespace

std::string_view element_type_name(ElementType type) { return entry(type).name; }

std::optional<ElementType> find_element_type(std::string_view name) {
  for (std::size_t i = 1; i < kEntries.size(); ++i) {
    if (kEntries[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

std::optional<ElementType> element_type_from_onnx(std::int64_t number) {
  if (number <= 0 || number >= static_cast<std::int64_t>(kEntries.size())) return std::nullopt;
  return static_cast<ElementType>(number);
}

int element_bits(ElementType type) { return entry(type).bits; }

std::optional<std::int64_t> storage_bytes(ElementType type, std::int64_t num_elements) {
  const int bits = element_bits(type);
  if (bits == 0 || num_elements < 0) return std::nullopt;
  if (bits >= 8) return checked_mul(num_elements, bits / 8);
  // Rounded up without an overflow: num_elements * bits may not fit.
  const std::int64_t per_byte = 8 / bits;
  return num_elements / per_byte + (num_elements % per_byte != 0 ? 1 : 0);
}

bool is_floating_point(ElementType type) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBf16:
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kF8E4M3Fn:
    case ElementType::kF8E4M3Fnuz:
    case ElementType::kF8E5M2:
    case ElementType::kF8E5M2Fnuz:
    case ElementType::kF8E8M0:
    case ElementType::kF4E2M1: return true;
    default: return false;
  }
}

bool is_integer(ElementType type) {
  switch (type) {
    case ElementType::kU8:
    case ElementType::kI8:
    case ElementType::kU16:
    case ElementType::kI16:
    case ElementType::kI32:
    case ElementType::kI64:
    case ElementType::kU32:
    case ElementType::kU64:
    case ElementType::kU4:
    case ElementType::kI4:
    case ElementType::kU2:
    case ElementType::kI2: return true;
    default: return false;
  }
}

}  // namespace sluice::ir
