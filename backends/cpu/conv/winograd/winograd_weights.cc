#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "conv/winograd/winograd.h"

namespace sluice::cpu {
namespace {

/// The packing of one position, which is the same for every number of tiles.
ConvPacking packing_of(const ConvShape& shape, Isa isa) {
  return {winograd_product(shape, 1), *SLUICE_CPU_PICK(isa, kConvTiles)};
}

/// One axis: G * w, in double, because it is done once.
///
///         |  1/4     0     0  |
///         | -1/6  -1/6  -1/6  |
///     G = | -1/6   1/6  -1/6  |
///         | 1/24  1/12   1/6  |
///         | 1/24 -1/12   1/6  |
///         |    0     0     1  |
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

/// For tiles of two: rows (1, 0, 0), (1/2, 1/2, 1/2), (1/2, -1/2, 1/2) and (0, 0, 1).
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

/// All filters at all positions: [position][out][in].
std::vector<float> transform_all(const ConvShape& shape, WinogradTile tile, const float* weights) {
  const std::int64_t filters = shape.in_channels * shape.out_channels;
  std::vector<float> transformed(static_cast<std::size_t>(positions_of(tile) * filters));
  const auto transform_one = tile == WinogradTile::kTwo ? transform_filter<4> : transform_filter<6>;
  for (std::int64_t i = 0; i < filters; ++i) {
    transform_one(weights + 9 * i, transformed.data() + i, filters);
  }
  return transformed;
}

constexpr float kMostInteger = 32767;

/// Replaces the weights of an output channel at a position by integers and returns their scale:
/// NaN if a weight is not finite.
float round_to_integers(std::span<float> weights) {
  double largest = 0;
  for (const float w : weights) {
    if (!std::isfinite(w)) {
      std::ranges::fill(weights, 0.0F);  // which have integers; zeros times NaN are NaN
      return NAN;
    }
    largest = std::max(largest, std::fabs(static_cast<double>(w)));
  }
  const double per_weight = largest > 0 ? kMostInteger / largest : 0;
  for (float& w : weights) w = static_cast<float>(std::nearbyint(w * per_weight));
  return static_cast<float>(largest / kMostInteger);
}

/// Replaces `transformed` by integers.
void pack_integers(const ConvShape& shape, Isa isa, int positions, std::span<float> transformed,
                   std::int16_t* integers) {
  const ConvPacking packing = packing_of(shape, isa);
  const auto filter = static_cast<std::size_t>(shape.in_channels);
  const auto filters = filter * static_cast<std::size_t>(shape.out_channels);
  auto* scales = reinterpret_cast<float*>(integers + positions * packing.size());
  std::fill_n(scales, blocks_of(shape.out_channels) * positions * kBlock, 0.0F);
  std::vector<float> panels(static_cast<std::size_t>(packing.size()));
  for (int p = 0; p < positions; ++p) {
    const std::span<float> position = transformed.subspan(static_cast<std::size_t>(p) * filters);
    for (std::int64_t out = 0; out < shape.out_channels; ++out) {
      scales[(out / kBlock * positions + p) * kBlock + out % kBlock] =
          round_to_integers(position.subspan(static_cast<std::size_t>(out) * filter, filter));
    }
    packing.pack(position.data(), panels.data());
    SLUICE_CPU_PICK(isa, from_floats)
    (Storage::kI16, panels.data(), packing.size(), integers + p * packing.size());
  }
}

}  // namespace

std::int64_t winograd_weights_bytes(const ConvShape& shape, Isa isa, WinogradWeights form) {
  const std::int64_t scales = form.has_scales() ? blocks_of(shape.out_channels) * kBlock : 0;
  const std::int64_t bytes = packing_of(shape, isa).size() * storage_bytes(form.storage) +
                             scales * static_cast<std::int64_t>(sizeof(float));
  return positions_of(form.tile) * bytes;
}

void pack_winograd(const ConvShape& shape, Isa isa, WinogradWeights form, const float* weights,
                   void* packed) {
  const int positions = positions_of(form.tile);
  std::vector<float> transformed = transform_all(shape, form.tile, weights);
  if (form.has_scales()) {
    return pack_integers(shape, isa, positions, transformed, static_cast<std::int16_t*>(packed));
  }
  const std::int64_t filters = shape.in_channels * shape.out_channels;
  const ConvPacking packing = packing_of(shape, isa);
  auto* floats = static_cast<float*>(packed);
  for (int p = 0; p < positions; ++p) {
    packing.pack(transformed.data() + p * filters, floats + p * packing.size());
  }
}

}  // namespace sluice::cpu
