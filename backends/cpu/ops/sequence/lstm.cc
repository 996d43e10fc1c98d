// LSTM with ONNX's default activations, constant weights, and no lengths or peepholes.

#include "kernels/sequence/lstm.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/float_buffer.h"
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

std::int64_t packed_floats(const sluice_op& op, int input, Isa isa) {
  const Sizes s(op);
  if (input == kW) {
    return s.directions * SLUICE_CPU_PICK(isa, packed_lstm_w_floats)(s.inputs, s.hidden);
  }
  return s.directions * SLUICE_CPU_PICK(isa, packed_lstm_r_floats)(s.hidden);
}

sluice_packing lstm_packing(const sluice_op& op, int input, Isa isa) {
  if (input != kW && input != kR) return {};
  sluice_packing packing = {};
  packing.size_bytes = packed_floats(op, input, isa) * static_cast<std::int64_t>(sizeof(float));
  std::snprintf(packing.format, sizeof packing.format, "lstm-%c/%s", input == kW ? 'w' : 'r',
                isa_name(isa));
  return packing;
}

void pack_lstm(const sluice_op& op, int input, Isa isa, void* packed) {
  const Sizes s(op);
  const auto* from = static_cast<const float*>(op.inputs[input].tensor.data);
  auto* to = static_cast<float*>(packed);
  const std::int64_t each = packed_floats(op, input, isa) / s.directions;
  // pack_gemm_b reads the padded gates as columns.
  const FloatBuffer temporary(input == kW ? each : 0);
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const std::int64_t row = d * kLstmGates * s.hidden;
    if (input == kW) {
      SLUICE_CPU_PICK(isa, pack_lstm_w)
      (from + row * s.inputs, s.inputs, s.hidden, temporary.data(), to + d * each);
    } else {
      SLUICE_CPU_PICK(isa, pack_lstm_r)(from + row * s.hidden, s.hidden, to + d * each);
    }
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
  }

  int phases() const override { return plan_.phases(); }

  void run(const Run& run, int phase, const Worker& worker) const override {
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
    return SLUICE_CPU_PICK(isa_, lstm_shared_floats)(plan_) *
           static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.steps * plan_.batch * plan_.directions * plan_.hidden) *
           static_cast<double>(plan_.inputs + plan_.hidden) * kLstmGates / kMultiplyAddsPerNs;
  }

 private:
  /// Of one worker, roughly: cost_ns only decides what is worth dividing.
  static constexpr double kMultiplyAddsPerNs = 20;

  /// The weights from the package, or packed into `own` if the package has none in this form.
  const float* packed(int input, FloatBuffer* own) const {
    const sluice_operand& operand = op().inputs[input];
    const std::int64_t floats = packed_floats(op(), input, isa_);
    if (operand.packed != nullptr && operand.packed_bytes == floats * 4) {
      return static_cast<const float*>(operand.packed);
    }
    *own = FloatBuffer(floats);
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
