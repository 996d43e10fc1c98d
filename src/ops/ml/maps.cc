// Operators on maps. Sluice has tensors, sequences and optionals; these say how to do without.
#include "ops/families.h"
#include "ops/ml/ml.h"

namespace sluice::ops {
namespace {

Status refuse_zip_map(InferenceContext& context) {
  return context.error(
      "it turns probabilities into a list of dictionaries, which Sluice does not have; export the "
      "model with the converter's option zipmap=False, or delete the node and make its input the "
      "output: the same probabilities, a column per class label");
}

Status refuse_map_input(InferenceContext& context) {
  return context.error(
      "it reads dictionaries, which Sluice does not have; export the model to take a tensor with a "
      "column per key");
}

OpSchema map_schema(std::string_view name, std::string_view doc, InferFn infer) {
  OpSchema schema = ml_schema(name, doc, infer, {});
  schema.inputs = {{.name = "X", .types = kAllTensors, .takes_any_type = true}};
  schema.outputs = {{"Y", kAllTensors}};
  return schema;
}

}  // namespace

std::vector<OpSchema> map_ops() {
  return {map_schema("ZipMap", "refused: its result is a list of dictionaries", refuse_zip_map),
          map_schema("DictVectorizer", "refused: it reads dictionaries", refuse_map_input),
          map_schema("CastMap", "refused: it reads dictionaries", refuse_map_input)};
}

}  // namespace sluice::ops
