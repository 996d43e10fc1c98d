#include "ops/matrix/byte_panels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace sluice::cpu {
namespace {

/// Rounds one column into its place in a panel: every `stride` bytes a group.
struct Rounded {
  float scale;
  std::int32_t sum;
};

/// How many steps the largest magnitude is: 127, or fewer where all numbers are whole multiples of
/// a larger step, as those of weights that had 8 bits before, which so stay what they were.
int steps_in(const float* b, std::int64_t step, std::int64_t k, float scale, float most) {
  constexpr float kWhole = 1e-3F;
  for (int steps = 1; most > 0 && steps < 127; ++steps) {
    const float factor = scale * (static_cast<float>(steps) / most);
    std::int64_t p = 0;
    for (; p < k; ++p) {
      const float x = b[p * step] * factor;
      if (std::fabs(x - std::nearbyint(x)) > kWhole) break;
    }
    if (p == k) return steps;
  }
  return 127;
}

Rounded round_column(const float* b, std::int64_t step, std::int64_t k, float scale,
                     std::int8_t* bytes, std::int64_t stride) {
  float most = 0;
  bool is_finite = true;
  for (std::int64_t p = 0; p < k; ++p) {
    const float x = b[p * step] * scale;
    is_finite = is_finite && std::isfinite(x);
    most = std::max(most, std::fabs(x));
  }
  if (!is_finite) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const auto num_steps = static_cast<float>(steps_in(b, step, k, scale, most));
  const float steps = most > 0 ? num_steps / most : 0;
  std::int32_t sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const float x = std::clamp(std::nearbyint(b[p * step] * scale * steps), -127.0F, 127.0F);
    bytes[p / kByteGroup * stride + p % kByteGroup] = static_cast<std::int8_t>(x);
    sum += static_cast<std::int32_t>(x);
  }
  return {most / num_steps, sum};
}

/// The place of column `j` in its panel.
struct ColumnPlace {
  ColumnPlace(const BytePanels& panels, std::int64_t j, void* packed)
      : panel(static_cast<std::int8_t*>(packed) + j / panels.width * panels.panel_bytes()),
        lane(j % panels.width) {}

  std::int8_t* bytes() const { return panel + lane * kByteGroup; }

  void finish(const BytePanels& panels, const Rounded& rounded) const {
    const std::int32_t correction = 128 * rounded.sum;
    std::int8_t* scales = panel + panels.groups() * panels.width * kByteGroup + lane * 4;
    std::memcpy(scales, &rounded.scale, sizeof rounded.scale);
    std::memcpy(scales + panels.width * 4, &correction, sizeof correction);
  }

  std::int8_t* panel;
  std::int64_t lane;
};

}  // namespace

const ByteTileSet& byte_tiles(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && has_vnni()) return avx512vnni::kByteTiles;
#endif
  return *SLUICE_CPU_PICK(isa, kByteTiles);
}

std::vector<std::uint8_t> find_narrow_panels(const BytePanels& panels, const void* packed,
                                             std::int64_t count, Isa isa) {
  std::vector<std::uint8_t> narrow(static_cast<std::size_t>(count));
  if (!byte_tiles(isa).knows_narrow) return narrow;
  const auto* panel = static_cast<const std::int8_t*>(packed);
  for (std::int64_t j = 0; j < count; ++j, panel += panels.panel_bytes()) {
    const bool is_narrow =
        SLUICE_CPU_PICK(isa, is_narrow_panel)(panel, panels.groups() * kByteGroup * panels.width);
    narrow[static_cast<std::size_t>(j)] = is_narrow ? 1 : 0;
  }
  return narrow;
}

void pack_byte_panels(const BytePanels& panels, const float* b, std::int64_t step,
                      std::int64_t column, float scale, void* packed) {
  std::memset(packed, 0, static_cast<std::size_t>(panels.bytes()));
  for (std::int64_t j = 0; j < panels.n; ++j) {
    const ColumnPlace place(panels, j, packed);
    place.finish(panels, round_column(b + j * column, step, panels.k, scale, place.bytes(),
                                      panels.width * kByteGroup));
  }
}

void pack_bytes(const BytePanels& panels, const std::int8_t* b, std::int64_t step,
                std::int64_t column, const float* scales, void* packed) {
  std::memset(packed, 0, static_cast<std::size_t>(panels.bytes()));
  for (std::int64_t j = 0; j < panels.n; ++j) {
    const ColumnPlace place(panels, j, packed);
    Rounded kept = {scales[j], 0};
    for (std::int64_t p = 0; p < panels.k; ++p) {
      const std::int8_t value = b[p * step + j * column];
      place.bytes()[p / kByteGroup * panels.width * kByteGroup + p % kByteGroup] = value;
      kept.sum += value;
    }
    place.finish(panels, kept);
  }
}

}  // namespace sluice::cpu
