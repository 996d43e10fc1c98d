// Softmax, LogSoftmax, Hardmax.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

Status infer_softmax(InferenceContext& context) {
  if (const ir::Shape* data = context.shape(0)) {
    const auto rank = static_cast<std::int64_t>(data->size());
    const std::int64_t axis = context.int_attribute("axis", -1);
    const bool is_flat_end = context.version() < 13 && axis == rank;  // an empty inner part
    if (!is_flat_end && (axis < -rank || axis >= rank)) {
      return context.error("axis {} is outside {}", axis, ir::shape_to_string(*data));
    }
  }
  return infer_same_as_input(context);
}

/// Before version 13 the axes from `axis` on were flattened into one. That is what the newest form
/// says only if `axis` is the last, which takes the rank to know: other operations keep version 11.
Status upgrade_softmax(ir::Subgraph& subgraph, ir::Operation& operation) {
  const std::int64_t axis = operation.attributes.get_or<std::int64_t>("axis", 1);
  operation.attributes.set("axis", axis);
  operation.version = 11;
  if (!operation.input(0).is_valid()) return ok_status();
  const ir::Type& type = subgraph.operand(operation.input(0)).type;
  const bool has_rank = type.is_tensor() && type.shape() != nullptr;
  const bool is_last =
      axis == -1 || (has_rank && axis == static_cast<std::int64_t>(type.shape()->size()) - 1);
  return is_last ? upgrade_unchanged(subgraph, operation) : ok_status();
}

OpSchema softmax(std::string_view name, std::string_view doc) {
  return {.name = name,
          .versions = {1, 11, 13},
          .doc = doc,
          .inputs = {{"input", kFloats, "T"}},
          .outputs = {{"output", kFloats, "T"}},
          .attributes = {{"axis", std::int64_t{-1}}},
          .infer = infer_softmax,
          .upgrade = upgrade_softmax};
}

}  // namespace

std::vector<OpSchema> softmax_ops() {
  return {softmax("Softmax", "exp(x) / sum(exp(x)) along an axis"),
          softmax("LogSoftmax", "x - log(sum(exp(x))) along an axis"),
          softmax("Hardmax", "1 at the first largest element along an axis, 0 elsewhere")};
}

}  // namespace sluice::ops
