#include <algorithm>

#include "passes/rewrites.h"

namespace sluice::passes {
namespace {

constexpr Pass kInferTypes = {"infer_types", "infer types again", infer_types};
constexpr Pass kIdentities = {"identities", "drop operations that change nothing",
                              remove_identities};
constexpr Pass kFoldConstants = {"fold_constants", "compute what depends on constants alone",
                                 fold_constants};
constexpr Pass kDeadCode = {"dead_code", "remove operations without a reader", remove_dead_code};

constexpr Pass kFoldConditions = {"conditions", "take the branch of a constant condition",
                                  fold_conditions};
constexpr Pass kCaptures = {"captures", "give bodies the constants that they capture",
                            simplify_captures};

/// Shapes make constants, which make more shapes known: two rounds settle what models have.
constexpr Pass kPipeline[] = {
    {"cast_like", "name the types of casts", name_cast_types},
    kIdentities,
    {"half_batch_norm", "put scales and shifts of channels into weights of 16 bits",
     fuse_half_norms},
    {"widen_halves", "compute with 16-bit floats in 32 bits", widen_halves},
    {"narrow_blocks", "keep weights of 4 and 8 bits in 4 and 8 bits", narrow_blocks},
    {"dequantize_rows", "look rows up before they are dequantized", dequantize_rows},
    {"expand_quantized", "write quantized operators with plain ones", expand_quantized},
    {"quantized", "compute with bytes between quantized tensors", fuse_quantized},
    {"fold_shapes", "replace values that follow from shapes by constants", fold_shapes},
    kFoldConstants,
    kFoldConditions,
    kCaptures,
    kInferTypes,
    kIdentities,
    kFoldConstants,
    kFoldConditions,
    kDeadCode,
    {"rewrite_operators", "write operators without fast kernels with others", rewrite_operators},
    {"tabulate_trees", "put the nodes of tree ensembles into a constant", tabulate_trees},
    {"trim_kernels", "drop taps of convolutions that see padding alone", trim_kernels},
    {"unflatten_products", "multiply on all dimensions instead of folded rows", unflatten_products},
    {"batch_norm", "put scales and shifts of channels into weights", fuse_batch_norm},
    {"gelu", "find Gelu in its parts", fuse_gelu},
    {"layer_norm", "find layer normalization in its parts", fuse_layer_norm},
    {"rms_norm", "find root mean square normalization in its parts", fuse_rms_norm},
    {"softmax", "find softmax in its parts", fuse_softmax},
    {"attention", "find attention in its parts", fuse_attention},
    {"transposes", "join transposes, and drop those that move nothing", simplify_transposes},
    {"pack_heads", "let attention read and write heads side by side", pack_heads},
    // A second time, since the passes above leave constants and shapes behind that were not there.
    kFoldConstants,
    kFoldConditions,
    kCaptures,
    kInferTypes,
    kIdentities,
    kDeadCode,
    {"narrow_weights", "keep weights that come in 16 bits in 16 bits", narrow_weights},
    // Last of the fusions: it takes what the patterns above have left.
    {"elementwise", "put element-wise operations into one pass over memory", fuse_elementwise},
    kDeadCode,
};

constexpr Pass kRandomState = {"random_state", "give random operations the state of the run",
                               give_random_state};
constexpr Pass kRoundedWeights = {"rounded_weights", "let backends round constant matrices",
                                  allow_rounded_weights};
constexpr Pass kByteProducts = {
    "byte_products", "let backends multiply constant matrices in 8 bits", allow_byte_products};
constexpr Pass kDirectConvolutions = {"direct_convolutions", "keep backends from Winograd's method",
                                      direct_convolutions};
constexpr Pass kStrassenOnce = {"strassen_1", "let backends multiply by Strassen's method",
                                allow_one_strassen_level};
constexpr Pass kStrassenTwice = {"strassen_2", "let backends use Strassen's method twice over",
                                 allow_two_strassen_levels};

}  // namespace

const Pass& random_state_pass() { return kRandomState; }
const Pass& rounded_weights_pass() { return kRoundedWeights; }
const Pass& byte_products_pass() { return kByteProducts; }
const Pass& direct_convolutions_pass() { return kDirectConvolutions; }
const Pass& strassen_pass(int levels) { return levels == 1 ? kStrassenOnce : kStrassenTwice; }

std::span<const Pass> default_pipeline() { return kPipeline; }

std::span<const Pass> plain_pipeline() {
  const std::span<const Pass> all = default_pipeline();
  const auto last = std::find_if(all.begin(), all.end(),
                                 [](const Pass& pass) { return pass.name == "batch_norm"; });
  return {all.begin(), last + 1};
}

std::vector<const Pass*> all_passes() {
  std::vector<const Pass*> all;
  const auto add = [&](const Pass& pass) {
    const bool is_new =
        std::ranges::none_of(all, [&](const Pass* other) { return other->name == pass.name; });
    if (is_new) all.push_back(&pass);
  };
  std::ranges::for_each(kPipeline, add);
  for (const Pass* pass : {&kRandomState, &kRoundedWeights, &kByteProducts, &kDirectConvolutions,
                           &kStrassenOnce, &kStrassenTwice}) {
    add(*pass);
  }
  return all;
}

const Pass* find_pass(std::string_view name) {
  const auto all = all_passes();
  const auto found = std::ranges::find(all, name, &Pass::name);
  return found == all.end() ? nullptr : *found;
}

}  // namespace sluice::passes
