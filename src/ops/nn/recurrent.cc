// Recurrent networks: RNN, GRU, LSTM. Where an LSTM's `sluice_weights` is "int8", a kernel may
// round each row of X and each hidden state to 8 bits, and the weights by columns.
#include <string>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr TypeSet kLengths = {ir::ElementType::kI32};

Result<std::int64_t> num_directions(const InferenceContext& context) {
  SLUICE_TRY(check_choice(context, "direction", {"forward", "reverse", "bidirectional"}));
  return context.text_attribute("direction") == "bidirectional" ? 2 : 1;
}

bool clashes(const ir::Dim& a, const ir::Dim& b) { return !may_be_equal(a, b); }

Status check_weights(const InferenceContext& context, std::int64_t gates, std::int64_t directions,
                     const ir::Dim& hidden) {
  const ir::Shape* x = context.shape(0);
  const ir::Shape* w = context.shape(1);
  const ir::Shape* r = context.shape(2);
  if ((x && x->size() != 3) || (w && w->size() != 3) || (r && r->size() != 3)) {
    return context.error("X, W and R must have rank 3");
  }
  // The gates' matrices stand below one another, so W and R have gates * hidden rows.
  const ir::Dim rows = hidden * gates;
  if (w && (clashes((*w)[0], directions) || clashes((*w)[1], rows) ||
            (x && clashes((*w)[2], (*x)[2])))) {
    return context.error("W {} is not [{}, {}, input size]", ir::shape_to_string(*w), directions,
                         rows.to_string());
  }
  if (r && (clashes((*r)[0], directions) || clashes((*r)[1], rows) || clashes((*r)[2], hidden))) {
    return context.error("R {} is not [{}, {}, {}]", ir::shape_to_string(*r), directions,
                         rows.to_string(), hidden.to_string());
  }
  return ok_status();
}

/// The hidden size comes from R, or from the attribute where R's shape is unknown.
Status infer_recurrent(InferenceContext& context, std::int64_t gates) {
  const std::int64_t directions = SLUICE_TRY(num_directions(context));
  const ir::Shape* x = context.shape(0);
  const ir::Shape* r = context.shape(2);
  ir::Dim hidden = context.int_attribute("hidden_size", 0);
  if (r != nullptr && r->size() == 3) {
    if (context.attributes().contains("hidden_size") && clashes(hidden, (*r)[2])) {
      return context.error("hidden_size is {}, R is {}", hidden.to_string(),
                           ir::shape_to_string(*r));
    }
    hidden = (*r)[2];
  }
  if (hidden.is_known() && hidden.value() < 1) return context.error("hidden_size is missing");
  SLUICE_TRY(check_weights(context, gates, directions, hidden));
  const bool is_batch_first = context.int_attribute("layout") != 0;
  const ir::Dim batch = x ? (*x)[is_batch_first ? 0 : 1] : context.unknown_dim();
  const ir::Dim steps = x ? (*x)[is_batch_first ? 1 : 0] : context.unknown_dim();
  const ir::Shape all = is_batch_first ? ir::Shape{batch, steps, directions, hidden}
                                       : ir::Shape{steps, directions, batch, hidden};
  const ir::Shape last =
      is_batch_first ? ir::Shape{batch, directions, hidden} : ir::Shape{directions, batch, hidden};
  // Outputs 1 and 2 have the same shape; an operation without output 2 ignores it.
  context.set_output(0, context.element(0), all);
  context.set_output(1, context.element(0), last);
  context.set_output(2, context.element(0), last);
  return ok_status();
}

Status infer_rnn(InferenceContext& context) { return infer_recurrent(context, 1); }
Status infer_gru(InferenceContext& context) { return infer_recurrent(context, 3); }
Status infer_lstm(InferenceContext& context) { return infer_recurrent(context, 4); }

Status upgrade_recurrent(ir::Subgraph& subgraph, ir::Operation& operation) {
  // Old versions asked with it for the first output. Today a node names the outputs that it wants.
  operation.attributes.erase("output_sequence");
  return upgrade_unchanged(subgraph, operation);
}

OpSchema recurrent(std::string_view name, std::vector<int> versions, std::string_view doc,
                   InferFn infer) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{"X", kFloats, "T"},
                     {"W", kFloats, "T"},
                     {"R", kFloats, "T"},
                     {"B", kFloats, "T", true},
                     {"sequence_lens", kLengths, "T1", true},
                     {"initial_h", kFloats, "T", true}},
          .outputs = {{"Y", kFloats, "T", true}, {"Y_h", kFloats, "T", true}},
          .attributes = {{"activation_alpha", std::nullopt},
                         {"activation_beta", std::nullopt},
                         {"activations", std::nullopt},
                         {"clip", std::nullopt},
                         {"direction", std::string("forward")},
                         {"hidden_size", std::nullopt},
                         {"layout", std::int64_t{0}}},
          .infer = infer,
          .upgrade = upgrade_recurrent};
}

OpSchema gru() {
  OpSchema schema = recurrent("GRU", {1, 3, 7, 14, 22}, "gated recurrent unit", infer_gru);
  schema.attributes.push_back({"linear_before_reset", std::int64_t{0}});
  return schema;
}

OpSchema lstm() {
  OpSchema schema = recurrent("LSTM", {1, 7, 14, 22}, "long short-term memory", infer_lstm);
  schema.inputs.push_back({"initial_c", kFloats, "T", true});
  schema.inputs.push_back({"P", kFloats, "T", true});
  schema.outputs.push_back({"Y_c", kFloats, "T", true});
  schema.attributes.push_back({"input_forget", std::int64_t{0}});
  return schema;
}

}  // namespace

std::vector<OpSchema> recurrent_ops() {
  return {recurrent("RNN", {1, 7, 14, 22}, "recurrent network of one gate", infer_rnn), gru(),
          lstm()};
}

}  // namespace sluice::ops
