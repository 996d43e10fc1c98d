// Element types of tensors. Numeric values are those of ONNX's TensorProto.DataType.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::ir {

enum class ElementType : std::int32_t {
  kUndefined = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,
  kC128 = 15,
  kBf16 = 16,
  kF8E4M3Fn = 17,
  kF8E4M3Fnuz = 18,
  kF8E5M2 = 19,
  kF8E5M2Fnuz = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};

/// "f32", "i64", "string", ...
std::string_view element_type_name(ElementType type);
std::optional<ElementType> find_element_type(std::string_view name);

/// nullopt for a number that is no element type (kUndefined included).
std::optional<ElementType> element_type_from_onnx(std::int64_t number);

/// Bits of one element: 4 for i4, 32 for f32, 0 for strings.
int element_bits(ElementType type);

/// Bytes of `num_elements` packed elements (two i4 share a byte); nullopt on overflow or strings.
std::optional<std::int64_t> storage_bytes(ElementType type, std::int64_t num_elements);

bool is_floating_point(ElementType type);  ///< f16, bf16, f32, f64 and the 8/4-bit floats
bool is_integer(ElementType type);         ///< signed and unsigned; not bool

}  // namespace sluice::ir
