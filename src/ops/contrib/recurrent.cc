// DynamicQuantizeLSTM: ONNX's LSTM with the numbers that quantized weights stand for.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

/// Inputs by place: of W or of R, and what scales it. Each is one per direction, or one per gate's
/// unit.
struct Quantized {
  std::size_t weights, scale, zero;
};

/// [directions, rows, columns] of integers as the floats [directions, columns, rows].
Result<OperandId> transposed_floats(Lowering& op, const Quantized& from, const Ints& integers,
                                    const Ints& dims) {
  const std::int64_t directions = dims[0], rows = dims[1], columns = dims[2];
  const auto scales = ir::float_values(*op.find_constant(from.scale));
  const auto zeros = ir::integer_values(*op.find_constant(from.zero));
  for (const auto& [input, count] : {std::pair(from.scale, scales ? scales->size() : 0),
                                     {from.zero, zeros ? zeros->size() : 0}}) {
    const auto given = static_cast<std::int64_t>(count);
    if (given != directions && given != directions * columns) {
      return op.error(
          "input {} has {} numbers; expected one per direction ({}), or one per column of each "
          "direction ({} columns)",
          input, given, directions, columns);
    }
  }
  const auto at = [&](const auto& values, std::int64_t d, std::int64_t c) {
    const bool is_one = static_cast<std::int64_t>(values.size()) == directions;
    return values[static_cast<std::size_t>(is_one ? d : d * columns + c)];
  };
  std::vector<float> floats(integers.size());
  for (std::int64_t d = 0; d < directions; ++d) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t number =
            integers[static_cast<std::size_t>((d * rows + r) * columns + c)];
        const auto steps = static_cast<float>(number - at(*zeros, d, c));
        floats[static_cast<std::size_t>((d * columns + c) * rows + r)] =
            steps * static_cast<float>(at(*scales, d, c));
      }
    }
  }
  return op.constant(ir::make_f32_constant(floats, {directions, columns, rows}));
}

/// The weights as LSTM takes them. Constant ones are computed here: as an operation, the compiler
/// would leave large ones for each run to compute.
Result<OperandId> lstm_weights(Lowering& op, const Quantized& from) {
  if (SLUICE_TRY(op.rank(from.weights)) != 3) {
    return op.error("input {} has not 3 axes", from.weights);
  }
  const ir::Constant* constant = op.find_constant(from.weights);
  const bool is_constant = constant != nullptr && op.find_constant(from.scale) != nullptr &&
                           op.find_constant(from.zero) != nullptr;
  if (is_constant) {
    const auto integers = ir::integer_values(*constant);
    const auto dims = constant->type.static_dims();
    if (integers && dims)
      return transposed_floats(op, from, *integers, {dims->begin(), dims->end()});
  }
  const std::int64_t directions = SLUICE_TRY(op.dim(from.weights, 0));
  const OperandId shape = op.ints({directions, 1, -1});
  const auto floats = [&](std::size_t input) {
    return op.cast(op.input(input), ir::ElementType::kF32);
  };
  const OperandId zero = SLUICE_TRY(op.emit("Reshape", {SLUICE_TRY(floats(from.zero)), shape}));
  const OperandId scale = SLUICE_TRY(op.emit("Reshape", {op.input(from.scale), shape}));
  const OperandId steps = SLUICE_TRY(op.emit("Sub", {SLUICE_TRY(floats(from.weights)), zero}));
  return op.emit("Transpose", {SLUICE_TRY(op.emit("Mul", {steps, scale}))},
                 {{"perm", Ints{0, 2, 1}}});
}

/// X, W, R, B, sequence_lens, initial_h, initial_c, P, W_scale, W_zero, R_scale, R_zero. A kernel
/// may round X and each hidden state to 8 bits first, as onnxruntime does.
Status lower_dynamic_lstm(Lowering& op) {
  const OperandId w = SLUICE_TRY(lstm_weights(op, {1, 8, 9}));
  const OperandId r = SLUICE_TRY(lstm_weights(op, {2, 10, 11}));
  Lowering::Inputs inputs = {op.input(0), w, r};
  for (std::size_t i = 3; i <= 7; ++i) inputs.push_back(op.input(i));
  std::vector<int> outputs;
  for (int i = 0; i < 3; ++i) outputs.push_back(op.wants(static_cast<std::size_t>(i)) ? i : -1);
  auto attributes = op.own_attributes({"activation_alpha", "activation_beta", "activations", "clip",
                                       "direction", "hidden_size", "input_forget"});
  attributes.emplace_back("sluice_weights", std::string("int8"));
  return op.finish("LSTM", std::move(inputs), attributes, outputs);
}

}  // namespace

std::vector<LoweredOperator> lowered_recurrent() {
  const OperandSpec bytes = {"weights", {ir::ElementType::kU8, ir::ElementType::kI8}, "Q"};
  const OperandSpec x = {"X", {ir::ElementType::kF32}, "T"};
  const OperandSpec maybe = {"optional", {ir::ElementType::kF32}, "T", true};
  const OperandSpec lengths = {"sequence_lens", {ir::ElementType::kI32}, "", true};
  return {{"DynamicQuantizeLSTM",
           "LSTM of quantized weights",
           {x, bytes, bytes, maybe, lengths, maybe, maybe, maybe, x, bytes, x, bytes},
           {"Y", "Y_h", "Y_c"},
           {{"activation_alpha", std::nullopt},
            {"activation_beta", std::nullopt},
            {"activations", std::nullopt},
            {"clip", std::nullopt},
            {"direction", std::string("forward")},
            {"hidden_size", std::nullopt},
            {"input_forget", std::int64_t{0}}},
           lower_dynamic_lstm}};
}

}  // namespace sluice::ops
