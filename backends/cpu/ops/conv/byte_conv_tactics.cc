#include "ops/conv/byte_conv_tactics.h"

#include "core/units.h"
#include "ops/conv/conv_op.h"
#include "plugin/tactic.h"

namespace sluice::cpu {
namespace {

struct ByteConvTactic {
  std::string_view name;
  ByteConvBlocks blocks;
};

constexpr ByteConvTactic kAllByteTactics[] = {
    {"", {}},
    {"channels", {.division = Division::kChannels}},
    {"rows", {.division = Division::kRows}},
    {"small-blocks", {.input_bytes = 128 * kKiB, .table_bytes = 16 * kKiB, .pixels = 256}},
    {"large-blocks", {.input_bytes = 768 * kKiB, .table_bytes = 128 * kKiB, .pixels = 4096}},
    {"smallest-blocks", {.input_bytes = 32 * kKiB, .table_bytes = 4 * kKiB, .pixels = 64}},
};

}  // namespace

ByteConvBlocks byte_conv_blocks(const sluice_op& op, Isa isa) {
  return find_tactic(kAllByteTactics, tactic_of(op, isa)).blocks;
}

std::vector<std::string> list_byte_conv_tactics(const sluice_op& op, Isa isa, int workers) {
  if (op.outputs[0].tensor.layout != SLUICE_LAYOUT_C16) return {};  // a fallback computes it
  const ConvShape shape = conv_weights_shape(op);
  if (byte_conv_refusal(shape) != nullptr) return {};
  return distinct_tactics(kAllByteTactics, [&](const ByteConvTactic& tactic) -> PlanNumbers {
    if (tactic.blocks.division != Division::kByCost && workers == 1) return std::nullopt;
    const ByteConvPlan plan = divide_byte_conv(shape, isa, tactic.blocks);
    return {{plan.block_pixels, shares_panels(plan, workers) ? 1 : 0}};
  });
}

}  // namespace sluice::cpu
