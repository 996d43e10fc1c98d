#include "ops/byte_conv_variants.h"

#include "ops/conv_op.h"
#include "plugin/variant.h"

namespace sluice::cpu {
namespace {

struct ByteConvVariant {
  std::string_view name;
  ByteConvBlocks blocks;
};

constexpr std::int64_t kKiB = 1024;

constexpr ByteConvVariant kAll[] = {
    {"", {}},
    {"channels", {.division = Division::kChannels}},
    {"rows", {.division = Division::kRows}},
    {"small-blocks", {.input_bytes = 128 * kKiB, .table_bytes = 16 * kKiB, .pixels = 256}},
    {"large-blocks", {.input_bytes = 768 * kKiB, .table_bytes = 128 * kKiB, .pixels = 4096}},
    {"smallest-blocks", {.input_bytes = 32 * kKiB, .table_bytes = 4 * kKiB, .pixels = 64}},
};

}  // namespace

ByteConvBlocks byte_conv_blocks(const sluice_op& op, Isa isa) {
  return find_variant(kAll, variant_of(op, isa)).blocks;
}

std::vector<std::string> list_byte_conv_variants(const sluice_op& op, Isa isa, int workers) {
  if (op.outputs[0].tensor.layout != SLUICE_LAYOUT_C16) return {};  // a fallback computes it
  const ConvShape shape = conv_weights_shape(op);
  if (byte_conv_refusal(shape) != nullptr) return {};
  return distinct_variants(kAll, [&](const ByteConvVariant& variant) -> PlanNumbers {
    if (variant.blocks.division != Division::kByCost && workers == 1) return std::nullopt;
    const ByteConvPlan plan = divide_byte_conv(shape, isa, variant.blocks);
    return {{plan.block_pixels, shares_panels(plan, workers) ? 1 : 0}};
  });
}

}  // namespace sluice::cpu
