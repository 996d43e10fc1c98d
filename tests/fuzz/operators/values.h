// Contents of tensors: small numbers mostly, and now and then the least, the largest, and NaN.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "ir/attribute.h"
#include "ops/inference.h"

namespace sluice::fuzz {

/// The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  /// In [0, count). Requires: count > 0.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  bool once_in(std::int64_t count) { return below(count) == 0; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

/// An integer such as indices, axes and sizes are.
std::int64_t random_integer(Random& random);

/// A constant of a static type; strings, too. Requires: ir::run_bytes(type) is small.
ir::Constant random_constant(const ir::Type& type, Random& random);

/// Type and elements, as the executor tells them to a shape function that asks for them.
ops::OperandFacts facts_of(const ir::Constant& contents);

}  // namespace sluice::fuzz
