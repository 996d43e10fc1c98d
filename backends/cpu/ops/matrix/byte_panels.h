#pragma once

#include <cstdint>
#include <vector>

#include "core/divide.h"
#include "kernels/bytes/byte_product.h"

namespace sluice::cpu {

/// The fastest set that this processor supports among those with panels as wide as `isa`'s.
const ByteTileSet& byte_tiles(Isa isa);

/// A constant B in panels: for each [groups][width][4] bytes, then [width] scales, then [width]
/// corrections. The last panel is filled up with zeros.
struct BytePanels {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t width = 0;

  std::int64_t groups() const { return divide_up(k, kByteGroup); }
  std::int64_t count() const { return divide_up(n, width); }
  std::int64_t panel_bytes() const { return width * (groups() * kByteGroup + 8); }
  std::int64_t bytes() const { return count() * panel_bytes(); }
};

/// Rounds and packs scale * B, with B(p, j) = b[p * step + j * column]. A column with a NaN or an
/// infinity has the scale NaN.
void pack_byte_panels(const BytePanels& panels, const float* b, std::int64_t step,
                      std::int64_t column, float scale, void* packed);

/// Packs bytes as they are, with a scale per column.
void pack_bytes(const BytePanels& panels, const std::int8_t* b, std::int64_t step,
                std::int64_t column, const float* scales, void* packed);

/// For each of `count` packed panels: 1 if it is narrow; 0 where that makes no difference.
std::vector<std::uint8_t> find_narrow_panels(const BytePanels& panels, const void* packed,
                                             std::int64_t count, Isa isa);

}  // namespace sluice::cpu
