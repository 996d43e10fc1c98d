// The part of ONNX's experimental set that came from Caffe2: ConstantFill, DynamicSlice, FC,
// GivenTensorFill, GRUUnit and LoopIndexTensor; and ConstantLike, which PyTorch 1.0 wrote. The rest
// of the set is in contrib/experimental.cc; only ATen is refused: it names a function of PyTorch.
// Where ONNX's text leaves a result open, Caffe2's operator of the name decides.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

constexpr auto kF32Code = static_cast<std::int64_t>(ir::ElementType::kF32);

/// Attribute `shape`; or the shape of the input, of which `input_as_shape` says that it lists the
/// dimensions, followed by `extra_shape`. A vector of i64.
Result<OperandId> wanted_shape(Lowering& op) {
  const auto& attributes = op.operation().attributes;
  const auto* shape = attributes.find<Ints>("shape");
  const auto extra = attributes.get_or<Ints>("extra_shape", {});
  if (!op.has(0)) {
    if (shape == nullptr) return op.error("it needs an input or attribute \"shape\"");
    if (!extra.empty()) return op.error("attribute \"extra_shape\" needs an input");
    return op.ints(*shape);
  }
  if (shape != nullptr && !shape->empty()) {
    return op.error("it takes an input or attribute \"shape\", not both");
  }
  const bool lists_dims = op.int_of("input_as_shape") != 0;
  const auto rank = op.rank(0);
  if (lists_dims && rank.is_ok() && rank.value() != 1) {
    return op.error("its input lists dimensions, so its rank must be 1, not {}", rank.value());
  }
  const OperandId dims = lists_dims ? SLUICE_TRY(op.cast(op.input(0), ir::ElementType::kI64))
                                    : SLUICE_TRY(op.emit("Shape", {op.input(0)}));
  if (extra.empty()) return dims;
  return op.emit("Concat", {dims, op.ints(extra)}, {{"axis", std::int64_t{0}}});
}

/// A tensor of attribute `value`, in the element type with that number.
Status fill(Lowering& op, OperandId shape, std::int64_t type) {
  if (!ir::element_type_from_onnx(type)) {
    return op.error("attribute \"dtype\" is {}, which is not an element type", type);
  }
  const Lowering::AttributeList value = {
      {"value", ir::make_f32_constant({op.float_of("value")}, {1})}};
  if (type == kF32Code) return op.finish("ConstantOfShape", {shape}, value);
  const OperandId floats = SLUICE_TRY(op.emit("ConstantOfShape", {shape}, value));
  return op.finish("Cast", {floats}, {{"to", type}});
}

Status lower_constant_fill(Lowering& op) {
  return fill(op, SLUICE_TRY(wanted_shape(op)), op.int_of("dtype", kF32Code));
}

/// In the element type of the input, unless `dtype` names another one.
Status lower_constant_like(Lowering& op) {
  const auto type = op.has(0) ? static_cast<std::int64_t>(op.element(0)) : kF32Code;
  const OperandId shape =
      op.has(0) ? SLUICE_TRY(op.emit("Shape", {op.input(0)})) : SLUICE_TRY(wanted_shape(op));
  return fill(op, shape, op.int_of("dtype", type));
}

/// Attribute `values` in a shape; f32, or the input's type if that holds floats.
Status lower_given_tensor_fill(Lowering& op) {
  const auto values = op.operation().attributes.get_or<std::vector<float>>("values", {});
  const auto count = static_cast<std::int64_t>(values.size());
  const OperandId floats = op.constant(ir::make_f32_constant(values, {count}));
  const Lowering::Inputs inputs = {floats, SLUICE_TRY(wanted_shape(op))};
  const Lowering::AttributeList attributes = {{"allowzero", std::int64_t{1}}};
  const ir::ElementType type = op.element(0);
  if (type == ir::ElementType::kF32 || !kFloats.contains(type)) {
    return op.finish("Reshape", inputs, attributes);
  }
  const OperandId shaped = SLUICE_TRY(op.emit("Reshape", inputs, attributes));
  return op.finish_cast(shaped, type);
}

Status lower_dynamic_slice(Lowering& op) {
  return op.finish("Slice", {op.input(0), op.input(1), op.input(2), op.input(3)});
}

/// X * W^T + b of two matrices: the dimensions before `axis` (of W, `axis_w`), and the others.
Status lower_fc(Lowering& op) {
  const std::int64_t axis = op.int_of("axis", 1), axis_w = op.int_of("axis_w", 1);
  const OperandId x = SLUICE_TRY(op.emit("Flatten", {op.input(0)}, {{"axis", axis}}));
  const OperandId w = SLUICE_TRY(op.emit("Flatten", {op.input(1)}, {{"axis", axis_w}}));
  return op.finish("Gemm", {x, w, op.input(2)}, {{"transB", std::int64_t{1}}});
}

/// One slice along `axis`, at the number of the loop's iteration.
Status lower_loop_index_tensor(Lowering& op) {
  const OperandId place = SLUICE_TRY(op.emit("Reshape", {op.input(1), op.ints({})}));
  return op.finish("Gather", {op.input(0), place}, {{"axis", op.int_of("axis")}});
}

/// hidden_prev [1, N, D] has gates [1, N, 3 * D], and N sequences. Declared shapes only.
Status check_gru_unit(const Lowering& op) {
  const auto hidden = op.shape(0), gates = op.shape(1), lengths = op.shape(2);
  if (!hidden.is_ok() || !gates.is_ok() || !lengths.is_ok()) return ok_status();
  const ir::Shape &state = hidden.value(), &gate = gates.value(), &count = lengths.value();
  const bool fits = state.size() >= 2 && gate.size() == state.size() && count.size() == 1 &&
                    may_be_equal(gate.back(), state.back() * 3) &&
                    may_be_equal(gate.end()[-2], state.end()[-2]) &&
                    may_be_equal(count[0], state.end()[-2]);
  if (fits) return ok_status();
  return op.error(
      "hidden_prev {}, gates {} and seq_lengths {} do not fit; they are [1,N,D], "
      "[1,N,3*D] and [N]",
      ir::shape_to_string(state), ir::shape_to_string(gate), ir::shape_to_string(count));
}

/// Whether step `t` is within the sequence of each entry: [N, 1].
Result<OperandId> is_running(Lowering& op) {
  const OperandId step = SLUICE_TRY(op.cast(op.input(3), ir::ElementType::kI64));
  const OperandId now = SLUICE_TRY(op.emit("Reshape", {step, op.ints({1})}));
  const OperandId lengths = SLUICE_TRY(op.cast(op.input(2), ir::ElementType::kI64));
  const OperandId runs = SLUICE_TRY(op.emit("Less", {now, lengths}));
  return op.emit("Unsqueeze", {runs, op.ints({1})});
}

/// hidden * u + tanh(o) * (1 - u), where the gates are [unused, update, output] and u is
/// sigmoid(update). Behind its end a sequence keeps its state, or with `drop_states` has zeros.
Status lower_gru_unit(Lowering& op) {
  SLUICE_TRY(check_gru_unit(op));
  const auto gates = SLUICE_TRY(op.emit_many(
      "Split", {op.input(1)}, 3, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{3}}}));
  const OperandId one = SLUICE_TRY(op.number(1));
  const OperandId kept = SLUICE_TRY(op.emit("Sigmoid", {gates[1]}));
  const OperandId renewed = SLUICE_TRY(op.emit("Sub", {one, kept}));
  const OperandId output = SLUICE_TRY(op.emit("Tanh", {gates[2]}));
  const OperandId old_part = SLUICE_TRY(op.emit("Mul", {op.input(0), kept}));
  const OperandId new_part = SLUICE_TRY(op.emit("Mul", {output, renewed}));
  const OperandId next = SLUICE_TRY(op.emit("Add", {old_part, new_part}));
  const OperandId runs = SLUICE_TRY(is_running(op));
  const OperandId ended = op.int_of("drop_states") != 0 ? SLUICE_TRY(op.number(0)) : op.input(0);
  return op.finish("Where", {runs, next, ended});
}

LoweredOperator filling(std::string_view name, std::string_view doc, TypeSet types,
                        std::vector<AttributeSpec> attributes, LowerFn lower) {
  for (const std::string_view shape : {"shape", "extra_shape", "input_as_shape"}) {
    attributes.push_back({shape, std::nullopt});
  }
  const OperandSpec input = {
      .name = "input", .types = types, .is_optional = true, .is_shape_value = true};
  return {name, doc, {input}, {"output"}, std::move(attributes), lower, ""};
}

}  // namespace

std::vector<LoweredOperator> lowered_caffe2() {
  const OperandSpec x = {"X", kFloats, "T"}, all = {"data", kAllTensors, "T"};
  const auto place = [](std::string_view name, bool is_optional) {
    return OperandSpec{name, kIndices, "Tind", is_optional, false, true};
  };
  const std::int64_t none = 0, one = 1;
  return {
      filling("ConstantFill", "one value in the shape of an input, or in a given one", kAllTensors,
              {{"value", 0.0F}, {"dtype", kF32Code}}, lower_constant_fill),
      filling("ConstantLike", "one value in the shape and type of the input", kAllTensors,
              {{"value", 0.0F}, {"dtype", std::nullopt}}, lower_constant_like),
      filling("GivenTensorFill", "given values in a shape", kNumbers,
              {{"values", std::nullopt, true}}, lower_given_tensor_fill),
      {"DynamicSlice",
       "a box cut from a tensor",
       {all, place("starts", false), place("ends", false), place("axes", true)},
       {"output"},
       {},
       lower_dynamic_slice,
       ""},
      {"FC",
       "X * W^T + b",
       {x, {"W", kFloats, "T"}, {"b", kFloats, "T"}},
       {"Y"},
       {{"axis", one}, {"axis_w", one}},
       lower_fc,
       ""},
      {"GRUUnit",
       "a step of a gated recurrent unit, from its gates",
       {{"hidden_prev", kFloats, "T"},
        {"gates", kFloats, "T"},
        {"seq_lengths", kNumbers},
        {"t", kNumbers}},
       {"hidden"},
       {{"drop_states", none}},
       lower_gru_unit,
       ""},
      {"LoopIndexTensor",
       "the slice at an index along an axis",
       {all, {"loop_idx", kIndices}},
       {"O"},
       {{"axis", none}},
       lower_loop_index_tensor,
       ""},
  };
}

}  // namespace sluice::ops
