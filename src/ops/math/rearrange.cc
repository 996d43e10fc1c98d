// Operators that reorder elements.
#include <algorithm>

#include "ops/families.h"
#include "ops/inference.h"
#include "ops/values.h"

namespace sluice::ops {
namespace {

Status infer_transpose(InferenceContext& context) {
  const ir::Shape* input = context.shape(0);
  const std::vector<std::int64_t> permutation = context.ints_attribute("perm");
  if (input == nullptr) return ok_status();
  // Without `perm` the axes are reversed. An empty `perm` is one of no axes, not its absence.
  ir::Shape result(input->rbegin(), input->rend());
  if (context.attributes().contains("perm")) {
    std::vector<bool> is_taken(input->size(), false);
    if (permutation.size() != input->size()) {
      return context.error("perm has {} entries, the input {}", permutation.size(),
                           ir::shape_to_string(*input));
    }
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      const auto axis = normalize_axis(permutation[i], input->size());
      if (!axis.is_ok() || is_taken[static_cast<std::size_t>(*axis)]) {
        return context.error("perm [{}] is not a permutation of {} axes",
                             fmt::join(permutation, ","), input->size());
      }
      is_taken[static_cast<std::size_t>(*axis)] = true;
      result[i] = (*input)[static_cast<std::size_t>(*axis)];
    }
  }
  context.set_output(0, context.element(0), std::move(result));
  // A vector that is transposed keeps its values: shapes go through such steps.
  pass_values(context);
  return ok_status();
}

Status check_divides(const InferenceContext& context, const ir::Dim& dim, std::int64_t by) {
  if (!dim.is_known() || dim.value() % by == 0) return ok_status();
  return context.error("dimension {} does not divide by {}", dim.to_string(), by);
}

/// [N, C, H, W] and a block size whose square fits 64 bits.
Result<std::int64_t> block_size(const InferenceContext& context) {
  const std::int64_t block = context.int_attribute("blocksize");
  if (block < 1 || block > (std::int64_t{1} << 30)) {
    return context.error("blocksize {} is not between 1 and 2^30", block);
  }
  const ir::Shape* input = context.shape(0);
  if (input != nullptr && input->size() != 4) {
    return context.error("the input must have 4 dimensions, not {}", ir::shape_to_string(*input));
  }
  SLUICE_TRY(check_choice(context, "mode", {"DCR", "CRD"}));
  return block;
}

Status infer_depth_to_space(InferenceContext& context) {
  const std::int64_t block = SLUICE_TRY(block_size(context));
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) {
    context.set_output(0, context.element(0), unknown_shape(context, 4));
    return ok_status();
  }
  const ir::Shape& x = *input;
  // Both modes need whole blocks. A symbol that does not divide is an error of the run.
  SLUICE_TRY(check_divides(context, x[1], block * block));
  context.set_output(0, context.element(0),
                     ir::Shape{x[0], floor_div(x[1], block * block), x[2] * block, x[3] * block});
  return ok_status();
}

Status infer_space_to_depth(InferenceContext& context) {
  const std::int64_t block = SLUICE_TRY(block_size(context));
  const ir::Shape* input = context.shape(0);
  if (input == nullptr) {
    context.set_output(0, context.element(0), unknown_shape(context, 4));
    return ok_status();
  }
  const ir::Shape& x = *input;
  SLUICE_TRY(check_divides(context, x[2], block));
  SLUICE_TRY(check_divides(context, x[3], block));
  context.set_output(
      0, context.element(0),
      ir::Shape{x[0], x[1] * (block * block), floor_div(x[2], block), floor_div(x[3], block)});
  return ok_status();
}

Status infer_reverse_sequence(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  const std::int64_t batch = context.int_attribute("batch_axis");
  const std::int64_t time = context.int_attribute("time_axis");
  if (batch == time || batch < 0 || batch > 1 || time < 0 || time > 1) {
    return context.error("batch_axis {} and time_axis {} must be 0 and 1 in some order", batch,
                         time);
  }
  const ir::Shape* input = context.shape(0);
  const ir::Shape* lengths = context.shape(1);
  if (input == nullptr || lengths == nullptr) return ok_status();
  if (input->size() < 2) return context.error("the input must have 2 dimensions or more");
  const ir::Dim& expected = (*input)[static_cast<std::size_t>(batch)];
  // Lengths are one per batch item.
  if (lengths->size() != 1 || !may_be_equal(expected, lengths->front())) {
    return context.error("sequence_lens must be [{}], not {}", expected.to_string(),
                         ir::shape_to_string(*lengths));
  }
  return ok_status();
}

Status infer_trilu(InferenceContext& context) {
  SLUICE_TRY(infer_same_as_input(context));
  const ir::Shape* input = context.shape(0);
  if (input != nullptr && input->size() < 2) {
    return context.error("the input must have 2 dimensions or more");
  }
  return ok_status();
}

OpSchema rearranging(std::string_view name, std::vector<int> versions, std::string_view doc,
                     InferFn infer, std::vector<AttributeSpec> attributes) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "input", .types = kAllTensors, .variable = "T"}},
          .outputs = {{.name = "output", .types = kAllTensors, .variable = "T"}},
          .attributes = std::move(attributes),
          .infer = infer};
}

std::vector<AttributeSpec> block_attributes() {
  return {{.name = "blocksize", .default_value = std::int64_t{0}, .is_required = true},
          {.name = "mode", .default_value = std::string("DCR")}};
}

}  // namespace

std::vector<OpSchema> rearrange_ops() {
  OpSchema reverse = rearranging("ReverseSequence", {10, 28}, "a prefix of each sequence reversed",
                                 infer_reverse_sequence,
                                 {{.name = "batch_axis", .default_value = std::int64_t{1}},
                                  {.name = "time_axis", .default_value = std::int64_t{0}}});
  reverse.inputs.push_back({.name = "sequence_lens", .types = kI64Only});
  OpSchema trilu = rearranging("Trilu", {14}, "upper or lower triangle, the rest 0", infer_trilu,
                               {{.name = "upper", .default_value = std::int64_t{1}}});
  trilu.inputs.push_back({.name = "k", .types = kI64Only, .is_optional = true, .is_single = true});
  return {
      rearranging("DepthToSpace", {1, 11, 13, 28}, "channels moved into blocks of the image",
                  infer_depth_to_space, block_attributes()),
      std::move(reverse),
      rearranging("SpaceToDepth", {1, 13, 28}, "blocks of the image moved into channels",
                  infer_space_to_depth, block_attributes()),
      rearranging("Transpose", {1, 13, 21, 23, 24, 25}, "axes permuted, or reversed",
                  infer_transpose, {}),
      std::move(trilu),
  };
}

}  // namespace sluice::ops
