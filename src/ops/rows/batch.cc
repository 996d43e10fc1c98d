// Operators whose axis 0 is a batch: each of its entries is computed alone.
#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

/// The inputs `I` have the rows along axis 0, as far as they are there; the others are for all
/// rows.
template <std::size_t... I>
RowsResult batch_rows(const RowContext& context) {
  SLUICE_TRY(context.others_have_none({I...}));
  for (const std::size_t i : {I...}) {
    if (!context.facts.has_input(i) || context.rows(i).are_at(0)) continue;
    return context.mixes("input {} has no rows along axis 0", i);
  }
  return std::vector{Rows::at(0)};
}

/// Training takes the mean of all rows.
RowsResult batch_normalization_rows(const RowContext& context) {
  if (context.facts.int_attribute("training_mode") != 0) {
    return context.mixes("it takes the mean of all");
  }
  return batch_rows<0>(context);
}

/// Indices count from the start of all rows.
RowsResult max_pool_rows(const RowContext& context) {
  if (context.facts.has_output(1)) return context.mixes("its indices count through all rows");
  return batch_rows<0>(context);
}

/// Rows are not resized: an interpolation between images would mix them.
RowsResult resize_rows(const RowContext& context) {
  const ir::Shape* shape = context.output(0);
  const bool is_cropped =
      context.facts.text_attribute("coordinate_transformation_mode") == "tf_crop_and_resize";
  if (!context.rows(0).is_rows() || shape == nullptr || is_cropped ||
      (*shape)[context.rows(0).axis] != context.shape(0)[context.rows(0).axis]) {
    return context.mixes("it resizes axis {}, the axis of rows", context.rows(0).axis);
  }
  SLUICE_TRY(context.others_have_none({0, 3}));  // sizes say how many rows there are
  return std::vector{context.rows(0)};
}

/// The size has the number of rows, too.
RowsResult affine_grid_rows(const RowContext& context) {
  if (!context.rows(0).are_at(0)) return context.mixes("input 0 has no rows along axis 0");
  return std::vector{Rows::at(0)};
}

constexpr NamedRowRule kBatchRules[] = {
    {"", "AffineGrid", affine_grid_rows},
    {"", "AveragePool", batch_rows<0>},
    {"", "BatchNormalization", batch_normalization_rows},
    {"", "Col2Im", batch_rows<0>},
    {"", "Conv", batch_rows<0>},
    {"", "ConvInteger", batch_rows<0>},
    {"", "ConvTranspose", batch_rows<0>},
    {"", "DeformConv", batch_rows<0, 2, 4>},
    {"", "DepthToSpace", batch_rows<0>},
    {"", "GlobalAveragePool", batch_rows<0>},
    {"", "GlobalLpPool", batch_rows<0>},
    {"", "GlobalMaxPool", batch_rows<0>},
    {"", "GridSample", batch_rows<0, 1>},
    {"", "GroupNormalization", batch_rows<0>},
    {"", "InstanceNormalization", batch_rows<0>},
    {"", "LRN", batch_rows<0>},
    {"", "LpPool", batch_rows<0>},
    {"", "MaxPool", max_pool_rows},
    {"", "QLinearConv", batch_rows<0>},
    {"", "Resize", resize_rows},
    {"", "SpaceToDepth", batch_rows<0>},
    {"ai.onnx.ml", "TreeEnsemble", batch_rows<0>},
    {"ai.onnx.ml", "TreeEnsembleClassifier", batch_rows<0>},
    {"ai.onnx.ml", "TreeEnsembleRegressor", batch_rows<0>},
    {"sluice", "CouplePairs", batch_rows<0>},
    {"sluice", "QuantizedConv", batch_rows<0, 4>},
    {"sluice", "SquaredDistances", batch_rows<0>},
    {"sluice", "TreeClassifier", batch_rows<0>},
    {"sluice", "TreeRegressor", batch_rows<0>},
};

}  // namespace

std::span<const NamedRowRule> batch_row_rules() { return kBatchRules; }

}  // namespace sluice::ops
