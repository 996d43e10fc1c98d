#include <vector>

#include "conv/winograd/winograd.h"

namespace sluice::cpu {
namespace {

/// The packing of one position, which is the same for every number of tiles.
ConvPacking packing_of(const ConvShape& shape, Isa isa) {
  return {winograd_product(shape, 1), *SLUICE_CPU_PICK(isa, kConvTiles)};
}

/// One axis: G * w, in double, because it is done once.
void transform(const double (&w)[3], double (&t)[6]) {
  const double outer = w[0] + w[2];
  const double far = w[0] / 24 + w[2] / 6;
  t[0] = w[0] / 4;
  t[1] = -(outer + w[1]) / 6;
  t[2] = -(outer - w[1]) / 6;
  t[3] = far + w[1] / 12;
  t[4] = far - w[1] / 12;
  t[5] = w[2];
}

void transform(const double (&w)[3], double (&t)[4]) {
  t[0] = w[0];
  t[1] = (w[0] + w[1] + w[2]) / 2;
  t[2] = (w[0] - w[1] + w[2]) / 2;
  t[3] = w[2];
}

/// A filter at all positions, a row of `stride` apart.
template <int kPatch>
void transform_filter(const float* filter, float* positions, std::int64_t stride) {
  double half[3][kPatch];  // [column][row after the transform]
  for (int c = 0; c < 3; ++c) {
    const double column[3] = {filter[c], filter[3 + c], filter[6 + c]};
    transform(column, half[c]);
  }
  for (int r = 0; r < kPatch; ++r) {
    const double row[3] = {half[0][r], half[1][r], half[2][r]};
    double transformed[kPatch];
    transform(row, transformed);
    for (int c = 0; c < kPatch; ++c)
      positions[(r * kPatch + c) * stride] = static_cast<float>(transformed[c]);
  }
}

}  // namespace

std::int64_t winograd_weights_size(const ConvShape& shape, Isa isa, WinogradTile tile) {
  return positions_of(tile) * packing_of(shape, isa).size();
}

void pack_winograd(const ConvShape& shape, Isa isa, WinogradTile tile, const float* weights,
                   float* packed) {
  const std::int64_t filters = shape.in_channels * shape.out_channels;
  const int positions = positions_of(tile);
  std::vector<float> transformed(static_cast<std::size_t>(positions * filters));
  const auto transform_one = tile == WinogradTile::kTwo ? transform_filter<4> : transform_filter<6>;
  for (std::int64_t i = 0; i < filters; ++i) {
    transform_one(weights + 9 * i, transformed.data() + i, filters);
  }
  const ConvPacking packing = packing_of(shape, isa);
  for (int p = 0; p < positions; ++p) {
    packing.pack(transformed.data() + p * filters, packed + p * packing.size());
  }
}

}  // namespace sluice::cpu
