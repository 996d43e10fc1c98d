#include "emulator/ptx/ops/rounding.h"

namespace sluice::cuda::ptx {

std::uint32_t take_float_modifiers(Decoder& decoder) {
  std::uint32_t bits = 0;
  const int rounding = decoder.take_one_of({"rn", "rz", "rm", "rp"});
  if (rounding > 0) bits |= static_cast<std::uint32_t>(rounding);
  if (decoder.take("ftz")) bits |= kFlush;
  if (decoder.take("sat")) bits |= kSaturate;
  if (decoder.take("NaN")) bits |= kNan;
  if (decoder.take("relu")) bits |= kRelu;
  return bits;
}

float round_directed(double value, double error, Rounding rounding) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto nearest = static_cast<float>(value);
  const double exact = nearest;
  const bool is_above = exact > value || (exact == value && error < 0);
  const bool is_below = exact < value || (exact == value && error > 0);
  const bool goes_down = rounding == Rounding::kDown || (rounding == Rounding::kZero && value > 0);
  const bool goes_up = rounding == Rounding::kUp || (rounding == Rounding::kZero && value < 0);
  if (goes_down && is_above && !std::isinf(value)) return std::nextafter(nearest, -kInfinity);
  if (goes_up && is_below && !std::isinf(value)) return std::nextafter(nearest, kInfinity);
  return nearest;
}

}  // namespace sluice::cuda::ptx
