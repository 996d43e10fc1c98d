// Losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

/// Scores [N, C, d...] against labels [N, d...] and weights [C].
Status check_labels(const InferenceContext& context) {
  const ir::Shape* scores = context.shape(0);
  const ir::Shape* labels = context.shape(1);
  if (scores == nullptr || labels == nullptr) return ok_status();
  bool fits = scores->size() >= 2 && labels->size() + 1 == scores->size();
  for (std::size_t i = 0; fits && i < labels->size(); ++i) {
    fits = may_be_equal((*labels)[i], (*scores)[i == 0 ? 0 : i + 1]);
  }
  if (!fits) {
    return context.error("labels {} do not fit scores {}", ir::shape_to_string(*labels),
                         ir::shape_to_string(*scores));
  }
  return ok_status();
}

Status infer_loss(InferenceContext& context) {
  SLUICE_TRY(check_labels(context));
  SLUICE_TRY(check_choice(context, "reduction", {"none", "mean", "sum"}));
  const ir::Shape* scores = context.shape(0);
  const ir::Shape* labels = context.shape(1);
  std::optional<ir::Shape> shape = ir::Shape();
  if (context.text_attribute("reduction") == "none") {
    shape = labels ? std::optional<ir::Shape>(*labels) : std::nullopt;
  }
  context.set_output(0, context.element(0), std::move(shape));
  context.set_output(1, context.element(0),
                     scores ? std::optional<ir::Shape>(*scores) : std::nullopt);
  return ok_status();
}

OpSchema loss(std::string_view name, std::vector<int> versions, std::string_view doc) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"input", kFloats, "T"},
                     {"target", kIndices, "Tind"},
                     {"weight", kFloats, "T", true}},
          .outputs = {{"loss", kFloats, "T"}},
          .attributes = {{"ignore_index", std::nullopt}, {"reduction", std::string("mean")}},
          .infer = infer_loss,
          .upgrade = upgrade_unchanged};
}

OpSchema softmax_cross_entropy() {
  OpSchema schema =
      loss("SoftmaxCrossEntropyLoss", {12, 13}, "negative log of the softmax at the label");
  schema.outputs.push_back({"log_prob", kFloats, "T", true});
  return schema;
}

}  // namespace

std::vector<OpSchema> loss_ops() {
  return {loss("NegativeLogLikelihoodLoss", {12, 13, 22}, "negative of the input at the label"),
          softmax_cross_entropy()};
}

}  // namespace sluice::ops
