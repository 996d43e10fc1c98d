// LSTM with ONNX's default activations, constant weights, and no lengths or peepholes. Where
// `sluice_weights` is "int8", its products are in 8 bits, as kernels/bytes/byte_product.h says.

#include "kernels/sequence/lstm.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "core/float_buffer.h"
#include "ops/matrix/byte_matrix.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum LstmInput { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

bool has_value(const sluice_operand& operand) {
  return operand.is_constant != 0 && plugin::is_static(operand.tensor) &&
         (operand.tensor.data != nullptr || operand.packed != nullptr);
}

bool has_default_activations(const plugin::Attributes& attributes) {
  static constexpr std::string_view kDefault[] = {"Sigmoid", "Tanh", "Tanh"};
  const auto names = attributes.get_texts("activations");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != kDefault[i % 3]) return false;
  }
  return true;
}

Status check_lstm(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  if (op.num_inputs < 3) return plugin::invalid_argument("LSTM takes at least three inputs");
  for (const int input : {kX, kW, kR}) {
    if (op.inputs[input].tensor.rank != 3) return plugin::invalid_argument("LSTM: rank 3 wanted");
  }
  if (!has_value(op.inputs[kW]) || !has_value(op.inputs[kR])) {
    return unimplemented("LSTM with weights that are not constant");
  }
  if (has_input(op, kB) && (!has_value(op.inputs[kB]) || op.inputs[kB].tensor.data == nullptr)) {
    return unimplemented("LSTM with a bias that is not constant");
  }
  if (has_input(op, kLengths) || has_input(op, kPeepholes))
    return unimplemented("LSTM lengths, peepholes");
  if (attributes.get_int("layout") != 0 || attributes.get_int("input_forget") != 0 ||
      attributes.get_float("clip") != 0 || !has_default_activations(attributes)) {
    return unimplemented("LSTM with layout, input_forget, clip or other activations");
  }
  return check_plain_f32(op);
}

struct Sizes {
  explicit Sizes(const sluice_op& op)
      : directions(op.inputs[kW].tensor.dims[0]),
        hidden(op.inputs[kR].tensor.dims[2]),
        inputs(op.inputs[kW].tensor.dims[2]) {}
  std::int64_t directions;
  std::int64_t hidden;
  std::int64_t inputs;
};

bool has_byte_products(const sluice_op& op) {
  return plugin::Attributes(op).get_text("sluice_weights", "f32") == "int8";
}

/// The panels of W or of R, in 8 bits.
BytePanels panels_of(const Sizes& s, int input, Isa isa) {
  const std::int64_t columns = SLUICE_CPU_PICK(isa, packed_lstm_bias_floats)(s.hidden);
  return {input == kW ? s.inputs : s.hidden, columns, byte_tiles(isa).width};
}

/// Bytes of one direction.
std::int64_t packed_bytes(const sluice_op& op, int input, Isa isa) {
  const Sizes s(op);
  if (has_byte_products(op)) return panels_of(s, input, isa).bytes();
  const std::int64_t floats = input == kW
                                  ? SLUICE_CPU_PICK(isa, packed_lstm_w_floats)(s.inputs, s.hidden)
                                  : SLUICE_CPU_PICK(isa, packed_lstm_r_floats)(s.hidden);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

sluice_packing lstm_packing(const sluice_op& op, int input, Isa isa) {
  if (input != kW && input != kR) return {};
  sluice_packing packing = {};
  packing.size_bytes = Sizes(op).directions * packed_bytes(op, input, isa);
  std::snprintf(packing.format, sizeof packing.format, "lstm-%c%s/%s", input == kW ? 'w' : 'r',
                has_byte_products(op) ? "-int8" : "", isa_name(isa));
  return packing;
}

/// `from`: the rows of one direction.
void pack_direction(const sluice_op& op, int input, Isa isa, const float* from, std::byte* to) {
  const Sizes s(op);
  const std::int64_t depth = input == kW ? s.inputs : s.hidden;
  if (has_byte_products(op)) {
    const BytePanels panels = panels_of(s, input, isa);
    const FloatBuffer arranged(panels.n * depth);
    SLUICE_CPU_PICK(isa, arrange_lstm_gates)(from, depth, s.hidden, arranged.data());
    return pack_byte_panels(panels, arranged.data(), 1, depth, 1, to);
  }
  auto* floats = reinterpret_cast<float*>(to);
  if (input == kR) return SLUICE_CPU_PICK(isa, pack_lstm_r)(from, s.hidden, floats);
  // pack_gemm_b reads the padded gates as columns.
  const FloatBuffer temporary(packed_bytes(op, input, isa) / 4);
  SLUICE_CPU_PICK(isa, pack_lstm_w)(from, s.inputs, s.hidden, temporary.data(), floats);
}

void pack_lstm(const sluice_op& op, int input, Isa isa, void* packed) {
  const Sizes s(op);
  const auto* from = static_cast<const float*>(op.inputs[input].tensor.data);
  const std::int64_t each = packed_bytes(op, input, isa);
  const std::int64_t rows = kLstmGates * s.hidden * (input == kW ? s.inputs : s.hidden);
  for (std::int64_t d = 0; d < s.directions; ++d) {
    pack_direction(op, input, isa, from + d * rows, static_cast<std::byte*>(packed) + d * each);
  }
}

class Lstm : public Kernel {
 public:
  Lstm(const sluice_op& op, Isa isa) : Kernel(op), isa_(isa) {
    const Sizes s(op);
    const auto x = dims_of(op.inputs[kX].tensor);
    plan_.steps = x[0];
    plan_.batch = x[1];
    plan_.inputs = s.inputs;
    plan_.hidden = s.hidden;
    plan_.directions = s.directions;
    plan_.reverse = plugin::Attributes(op).get_text("direction") == "reverse";
    w_ = packed(kW, &own_w_);
    r_ = packed(kR, &own_r_);
    pack_bias();
    if (!has_byte_products(op)) return;
    const std::int64_t columns = SLUICE_CPU_PICK(isa, packed_lstm_bias_floats)(plan_.hidden);
    inputs_ = GemmPlan::of(plan_.steps * plan_.batch, columns, plan_.inputs);
    bytes_.emplace(inputs_, isa);
    narrow_w_ = find_narrow(kW, w_);
    narrow_r_ = find_narrow(kR, r_);
  }

  /// In 8 bits, the inputs are rounded first.
  int phases() const override { return plan_.phases() + (bytes_ ? 1 : 0); }

  void run(const Run& run, int phase, const Worker& worker) const override {
    LstmArgs args = args_of(run);
    if (bytes_) {
      args.tiles = &byte_tiles(isa_);
      args.narrow = narrow_r_.data();
      if (phase-- == 0) return round_inputs(args, worker);
      if (phase == 0) multiply_inputs(args, worker);
    }
    SLUICE_CPU_PICK(isa_, run_lstm)(plan_, args, phase, worker);
  }

  void extents(Extents& extents) const override {
    const std::int64_t steps = plan_.steps;
    const std::int64_t each = plan_.directions * plan_.batch;
    const std::int64_t bytes = plan_.hidden * static_cast<std::int64_t>(sizeof(float));
    extents.reads(kX, {steps, plan_.batch, plan_.inputs, sizeof(float)});
    for (const int state : {kInitialH, kInitialC}) {
      if (has_input(op(), state)) extents.reads(state, {each, bytes});
    }
    for (int i = 0; i < op().num_outputs; ++i) {
      if (plugin::is_absent(op().outputs[i].tensor)) continue;
      extents.writes(i, {i == 0 ? steps : 1, each, bytes});
    }
  }

  std::int64_t shared_bytes() const override {
    return state_bytes() + (bytes_ ? bytes_->shared_bytes() : 0);
  }
  std::int64_t scratch_bytes() const override { return bytes_ ? plan_.scratch_bytes() : 0; }
  double cost_ns() const override {
    return static_cast<double>(plan_.steps * plan_.batch * plan_.directions * plan_.hidden) *
           static_cast<double>(plan_.inputs + plan_.hidden) * kLstmGates / kMultiplyAddsPerNs;
  }

 private:
  /// Rate of one worker, roughly: cost_ns only decides what is worth dividing.
  static constexpr double kMultiplyAddsPerNs = 20;
  static constexpr std::int64_t kAlignment = 64;

  LstmArgs args_of(const Run& run) const {
    LstmArgs args;
    args.x = run.input<float>(kX);
    args.w = w_;
    args.r = r_;
    args.bias = bias_.data();
    if (has_input(op(), kInitialH)) args.initial_h = run.input<float>(kInitialH);
    if (has_input(op(), kInitialC)) args.initial_c = run.input<float>(kInitialC);
    if (op().num_outputs > 0) args.y = run.output<float>(0);
    if (op().num_outputs > 1) args.last_h = run.output<float>(1);
    if (op().num_outputs > 2) args.last_c = run.output<float>(2);
    args.shared = reinterpret_cast<float*>(run.shared());
    return args;
  }

  /// Bytes of gates and states; the rounded inputs of products in 8 bits lie behind them.
  std::int64_t state_bytes() const {
    const std::int64_t floats = SLUICE_CPU_PICK(isa_, lstm_shared_floats)(plan_);
    return divide_up(floats * static_cast<std::int64_t>(sizeof(float)), kAlignment) * kAlignment;
  }
  std::byte* rounded_inputs(const LstmArgs& args) const {
    return reinterpret_cast<std::byte*>(args.shared) + state_bytes();
  }

  void round_inputs(const LstmArgs& args, const Worker& worker) const {
    GemmArgs operands;
    operands.a = args.x;
    bytes_->round(operands, rounded_inputs(args), worker);
  }

  void multiply_inputs(const LstmArgs& args, const Worker& worker) const {
    const auto* w = reinterpret_cast<const std::byte*>(w_);
    for (std::int64_t d = 0; d < plan_.directions; ++d) {
      GemmArgs operands;
      operands.c = SLUICE_CPU_PICK(isa_, lstm_gates)(plan_, args.shared, d);
      operands.bias = args.bias + d * inputs_.n;
      const BytePanels& panels = bytes_->panels();
      bytes_->multiply(operands, w + d * panels.bytes(), narrow_w_.data() + d * panels.count(),
                       rounded_inputs(args), worker);
    }
  }

  /// Finds the narrow panels of all directions.
  std::vector<std::uint8_t> find_narrow(int input, const float* packed) const {
    const BytePanels panels = panels_of(Sizes(op()), input, isa_);
    return find_narrow_panels(panels, packed, plan_.directions * panels.count(), isa_);
  }

  /// The weights from the package, or packed into `own` if the package has none in this form.
  const float* packed(int input, FloatBuffer* own) const {
    const sluice_operand& operand = op().inputs[input];
    const std::int64_t bytes = plan_.directions * packed_bytes(op(), input, isa_);
    if (operand.packed != nullptr && operand.packed_bytes == bytes) {
      return static_cast<const float*>(operand.packed);
    }
    *own = FloatBuffer(bytes / 4);
    pack_lstm(op(), input, isa_, own->data());
    return own->data();
  }

  /// ONNX has two biases per gate, of W and of R, one behind the other.
  void pack_bias() {
    const std::int64_t each = SLUICE_CPU_PICK(isa_, packed_lstm_bias_floats)(plan_.hidden);
    bias_ = FloatBuffer(each * plan_.directions);
    const auto* from =
        has_input(op(), kB) ? static_cast<const float*>(op().inputs[kB].tensor.data) : nullptr;
    for (std::int64_t d = 0; d < plan_.directions; ++d) {
      const float* own = from == nullptr ? nullptr : from + d * 2 * kLstmGates * plan_.hidden;
      SLUICE_CPU_PICK(isa_, pack_lstm_bias)(own, plan_.hidden, bias_.data() + d * each);
    }
  }

  LstmPlan plan_;
  Isa isa_;
  GemmPlan inputs_;  ///< of products in 8 bits; `bytes_` refers to it
  std::optional<ByteProduct> bytes_;
  std::vector<std::uint8_t> narrow_w_, narrow_r_;  ///< of products in 8 bits
  FloatBuffer own_w_;
  FloatBuffer own_r_;
  FloatBuffer bias_;
  const float* w_ = nullptr;
  const float* r_ = nullptr;
};

Status make_lstm(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const Sizes s(op);
  const auto x = dims_of(op.inputs[kX].tensor);
  if (x[0] < 1 || x[1] < 1 || s.hidden < 1 || s.inputs < 1 || x[2] != s.inputs) {
    return unimplemented("LSTM over nothing");
  }
  const std::int64_t gates = kLstmGates * s.hidden;
  const Dims w = {s.directions, gates, s.inputs};
  const Dims r = {s.directions, gates, s.hidden};
  const Dims b = {s.directions, 2 * gates};
  const bool is_known = s.directions == 1 || s.directions == 2;
  if (!is_known || !std::ranges::equal(dims_of(op.inputs[kW].tensor), w) ||
      !std::ranges::equal(dims_of(op.inputs[kR].tensor), r) ||
      (has_input(op, kB) && !std::ranges::equal(dims_of(op.inputs[kB].tensor), b))) {
    return unimplemented("LSTM with weights of other shapes");
  }
  *kernel = std::make_unique<Lstm>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> recurrent_entries() {
  return {{.kind = "LSTM",
           .check = check_lstm,
           .make = make_lstm,
           .packing = lstm_packing,
           .pack = pack_lstm,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
