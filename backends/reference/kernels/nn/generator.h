// Random numbers of one operation in one run.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "reference/kernels.h"

namespace sluice::reference {

/// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Where it
/// starts depends on the seed, the number of the run, the iteration and the operation. The seed is
/// the attribute `seed`, else that of the program, which an operation mixes with its own number.
class Generator {
 public:
  /// `input` is that of the state, which `sluice::RandomState` gives.
  /// Fails: SLUICE_FAILED_PRECONDITION without one.
  static plugin::Status create(const plugin::Call& call, int input,
                               std::optional<Generator>* generator);

  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  /// Mean 0, deviation 1, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  explicit Generator(std::uint64_t state) : state_(state) {}

  static std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31U;
  }
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::uint64_t next() { return mix(state_ += kStep); }

  std::uint64_t state_;
};

}  // namespace sluice::reference
