#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conv/conv_blocks.h"
#include "kernels/winograd_tile.h"
#include "ops/conv_op.h"

namespace sluice::cpu {

enum class ConvMethod : std::uint8_t { kDirect, kDepthwise, kWinogradTwo, kWinogradFour };

constexpr ConvMethod winograd_method(WinogradTile tile) {
  return tile == WinogradTile::kTwo ? ConvMethod::kWinogradTwo : ConvMethod::kWinogradFour;
}

/// None for other methods than Winograd's.
constexpr std::optional<WinogradTile> tile_of(ConvMethod method) {
  if (method == ConvMethod::kWinogradTwo) return WinogradTile::kTwo;
  if (method == ConvMethod::kWinogradFour) return WinogradTile::kFour;
  return std::nullopt;
}

/// A way to compute a convolution; blocks are those of its method.
struct ConvVariant {
  std::string_view name;
  std::optional<ConvMethod> method;  ///< nullopt: the fastest by what plans know
  ConvBlocks direct = {};
  WinogradBlocks winograd = {};
  DepthwiseBlocks depthwise = {};
};

/// The way that the operation asks for; the plug-in's own for none, or one that does not fit what
/// is known of the shape, or that the model does not allow.
const ConvVariant& conv_variant(const sluice_op& op, const ConvShape& shape, Isa isa);

/// Of that way. Never transforms weights where the model does not allow it.
ConvMethod conv_method(const sluice_op& op, const ConvShape& shape, Isa isa);

/// See OpEntry::variants.
std::vector<std::string> list_conv_variants(const sluice_op& op, Isa isa, int workers);

}  // namespace sluice::cpu
