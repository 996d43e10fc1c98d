// Arithmetic on sizes that says when it overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Product of non-negative dimensions; 1 for none. nullopt on overflow or a negative dimension.
inline std::optional<std::int64_t> checked_product(std::span<const std::int64_t> dims) {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim == 0) return 0;
  }
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return product;
}

/// `value` rounded up to a multiple of `alignment`, a power of two; nullopt on overflow.
inline std::optional<std::int64_t> checked_align(std::int64_t value, std::int64_t alignment) {
  const auto padded = checked_add(value, alignment - 1);
  if (!padded) return std::nullopt;
  return *padded & ~(alignment - 1);
}

}  // namespace sluice
