#include "ops/elementwise/types.h"

namespace sluice::cpu {

std::optional<Storage> storage_of(sluice_element_type type) {
  switch (type) {
    case plugin::kF32: return Storage::kF32;
    case plugin::kF16: return Storage::kF16;
    case plugin::kBf16: return Storage::kBf16;
    case plugin::kF64: return Storage::kF64;
    case plugin::kBool: return Storage::kBool;
    case plugin::kU8: return Storage::kU8;
    case plugin::kI8: return Storage::kI8;
    case plugin::kU16: return Storage::kU16;
    case plugin::kI16: return Storage::kI16;
    case plugin::kI32: return Storage::kI32;
    case plugin::kI64: return Storage::kI64;
    default: return std::nullopt;
  }
}

bool is_computed_float(sluice_element_type type) {
  return type == plugin::kF32 || type == plugin::kF16 || type == plugin::kBf16;
}

bool is_half(sluice_element_type type) { return type == plugin::kF16 || type == plugin::kBf16; }

bool is_integer(sluice_element_type type) {
  const auto storage = storage_of(type);
  return storage && *storage >= Storage::kU8;
}

bool fits_float(sluice_element_type type) {
  const auto storage = storage_of(type);
  return storage && *storage != Storage::kF64 && *storage != Storage::kI32 &&
         *storage != Storage::kI64;
}

}  // namespace sluice::cpu
