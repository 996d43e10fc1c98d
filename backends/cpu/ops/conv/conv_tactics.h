#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conv/conv_blocks.h"
#include "kernels/conv/winograd_tile.h"
#include "ops/conv/conv_op.h"

namespace sluice::cpu {

enum class ConvMethod : std::uint8_t { kDirect, kDepthwise, kWinogradTwo, kWinogradFour };

constexpr ConvMethod winograd_method(WinogradTile tile) {
  return tile == WinogradTile::kTwo ? ConvMethod::kWinogradTwo : ConvMethod::kWinogradFour;
}

/// Nullopt for methods other than Winograd's.
constexpr std::optional<WinogradTile> tile_of(ConvMethod method) {
  if (method == ConvMethod::kWinogradTwo) return WinogradTile::kTwo;
  if (method == ConvMethod::kWinogradFour) return WinogradTile::kFour;
  return std::nullopt;
}

/// A tactic of convolutions: a method, and the block sizes of that method.
struct ConvTactic {
  std::string_view name;
  std::optional<ConvMethod> method;  ///< nullopt: the fastest by the plans' cost model
  ConvBlocks direct = {};
  WinogradBlocks winograd = {};
  DepthwiseBlocks depthwise = {};
};

/// The tactic that the operation names. The default one if the operation names none, or one that
/// does not fit the known part of the shape, or one that the model does not allow.
const ConvTactic& conv_tactic(const sluice_op& op, const ConvShape& shape, Isa isa);

/// The method of that tactic. Never Winograd's if the model does not allow it.
ConvMethod conv_method(const sluice_op& op, const ConvShape& shape, Isa isa);

/// See OpEntry::tactics.
std::vector<std::string> list_conv_tactics(const sluice_op& op, Isa isa, int workers);

}  // namespace sluice::cpu
