// GRU and RNN with ONNX's default activations (an RNN also with others) and constant weights.

#include "kernels/sequence/gru.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "core/float_buffer.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"
#include "reference/tensors.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum GruInput { kGruX, kGruW, kGruR, kGruB, kGruLengths, kGruInitialH };

bool is_rnn(const sluice_op& op) { return std::string_view(op.kind) == "RNN"; }
std::int64_t gates_of(const sluice_op& op) { return is_rnn(op) ? 1 : 3; }

bool is_gru_constant(const sluice_operand& operand) {
  return operand.is_constant != 0 && plugin::is_static(operand.tensor) &&
         (operand.tensor.data != nullptr || operand.packed != nullptr);
}

bool find_activation(std::string_view name, RnnActivation* found) {
  if (name == "Tanh") *found = RnnActivation::kTanh;
  if (name == "Relu") *found = RnnActivation::kRelu;
  if (name == "Sigmoid") *found = RnnActivation::kSigmoid;
  return name == "Tanh" || name == "Relu" || name == "Sigmoid";
}

/// An RNN's activations; of a GRU only the default ones.
bool find_activations(const sluice_op& op, RnnActivation (&found)[2]) {
  static constexpr std::string_view kDefault[] = {"Sigmoid", "Tanh"};
  const auto names = plugin::Attributes(op).get_texts("activations");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_rnn(op) ? i > 1 || !find_activation(names[i], &found[i]) : names[i] != kDefault[i % 2]) {
      return false;
    }
  }
  return true;
}

Status check_operands(const sluice_op& op) {
  for (const int input : {kGruX, kGruW, kGruR}) {
    if (op.inputs[input].tensor.rank != 3) {
      return plugin::invalid_argument(plugin::kind_of(op) + ": rank 3 wanted");
    }
  }
  if (!is_gru_constant(op.inputs[kGruW]) || !is_gru_constant(op.inputs[kGruR])) {
    return unimplemented("weights that are not constant");
  }
  if (has_input(op, kGruB) &&
      (!is_gru_constant(op.inputs[kGruB]) || op.inputs[kGruB].tensor.data == nullptr)) {
    return unimplemented("a bias that is not constant");
  }
  if (op.body != nullptr) return unimplemented("fused body");
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      const bool is_lengths = &operand == &op.inputs[kGruLengths] && op.num_inputs > kGruLengths;
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.element_type != (is_lengths ? plugin::kI32 : plugin::kF32)) {
        return unimplemented("other element types");
      }
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
    }
  }
  return plugin::ok();
}

Status check_gru(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  if (op.num_inputs < 3) return plugin::invalid_argument("GRU and RNN take at least three inputs");
  RnnActivation activations[2];
  if (attributes.get_float("clip") != 0 || !find_activations(op, activations)) {
    return unimplemented("clip, or other activations");
  }
  return check_operands(op);
}

/// Reads the fields of the plan that weights and attributes determine.
GruPlan plan_of(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  GruPlan plan;
  plan.gates = gates_of(op);
  plan.directions = op.inputs[kGruW].tensor.dims[0];
  plan.inputs = op.inputs[kGruW].tensor.dims[2];
  plan.hidden = op.inputs[kGruR].tensor.dims[2];
  plan.reverse = attributes.get_text("direction") == "reverse";
  plan.is_batch_first = attributes.get_int("layout") != 0;
  plan.is_linear_first = !is_rnn(op) && attributes.get_int("linear_before_reset") != 0;
  (void)find_activations(op, plan.activation);
  return plan;
}

std::int64_t packed_gru_operand_floats(const sluice_op& op, int input, Isa isa) {
  const GruPlan plan = plan_of(op);
  return plan.directions * (input == kGruW ? SLUICE_CPU_PICK(isa, packed_gru_w_floats)(plan)
                                           : SLUICE_CPU_PICK(isa, packed_gru_r_floats)(plan));
}

sluice_packing gru_packing(const sluice_op& op, int input, Isa isa) {
  if (input != kGruW && input != kGruR) return {};
  sluice_packing packing = {};
  packing.size_bytes =
      packed_gru_operand_floats(op, input, isa) * static_cast<std::int64_t>(sizeof(float));
  // Panels of a linear GRU have all three gates side by side, those of others two and one.
  const GruPlan plan = plan_of(op);
  std::snprintf(packing.format, sizeof packing.format, "%s-%c%s/%s", is_rnn(op) ? "rnn" : "gru",
                input == kGruW ? 'w' : 'r', plan.is_linear_first ? "l" : "", isa_name(isa));
  return packing;
}

void pack_gru(const sluice_op& op, int input, Isa isa, void* packed) {
  const GruPlan plan = plan_of(op);
  const auto* from = static_cast<const float*>(op.inputs[input].tensor.data);
  const std::int64_t each = packed_gru_operand_floats(op, input, isa) / plan.directions;
  // pack_gemm_b reads the padded gates as columns.
  const FloatBuffer temporary(input == kGruW ? each : 0);
  for (std::int64_t d = 0; d < plan.directions; ++d) {
    const std::int64_t row = d * plan.gates * plan.hidden;
    float* to = static_cast<float*>(packed) + d * each;
    if (input == kGruW) {
      SLUICE_CPU_PICK(isa, pack_gru_w)(plan, from + row * plan.inputs, temporary.data(), to);
    } else {
      SLUICE_CPU_PICK(isa, pack_gru_r)(plan, from + row * plan.hidden, to);
    }
  }
}

class Gru : public Kernel {
 public:
  Gru(const sluice_op& op, Isa isa) : Kernel(op), plan_(plan_of(op)), isa_(isa) {
    const auto x = dims_of(op.inputs[kGruX].tensor);
    plan_.steps = x[plan_.is_batch_first ? 1 : 0];
    plan_.batch = x[plan_.is_batch_first ? 0 : 1];
    w_ = packed(kGruW, &own_w_);
    r_ = packed(kGruR, &own_r_);
    pack_bias();
  }

  int phases() const override { return plan_.phases(); }

  void run(const Run& run, int phase, const Worker& worker) const override {
    GruArgs args;
    args.x = run.input<float>(kGruX);
    args.w = w_;
    args.r = r_;
    args.bias = bias_.data();
    if (has_input(op(), kGruLengths)) args.lengths = run.input<std::int32_t>(kGruLengths);
    if (has_input(op(), kGruInitialH)) args.initial_h = run.input<float>(kGruInitialH);
    if (op().num_outputs > 0) args.y = run.output<float>(0);
    if (op().num_outputs > 1) args.last_h = run.output<float>(1);
    args.shared = reinterpret_cast<float*>(run.shared());
    // The kernel clamps lengths, so that none leaves its memory before the error ends the run.
    if (phase == 0 && worker.index == 0) check_lengths(run, args.lengths);
    SLUICE_CPU_PICK(isa_, run_gru)(plan_, args, phase, worker);
  }

  void extents(Extents& extents) const override {
    const std::int64_t each = plan_.directions * plan_.batch;
    const std::int64_t bytes = plan_.hidden * static_cast<std::int64_t>(sizeof(float));
    extents.reads(kGruX, {plan_.steps, plan_.batch, plan_.inputs, sizeof(float)});
    if (has_input(op(), kGruLengths))
      extents.reads(kGruLengths, {plan_.batch, sizeof(std::int32_t)});
    if (has_input(op(), kGruInitialH)) extents.reads(kGruInitialH, {each, bytes});
    for (int i = 0; i < std::min(op().num_outputs, 2); ++i) {
      if (plugin::is_absent(op().outputs[i].tensor)) continue;
      extents.writes(i, {i == 0 ? plan_.steps : 1, each, bytes});
    }
  }

  std::int64_t shared_bytes() const override {
    return SLUICE_CPU_PICK(isa_, gru_shared_floats)(plan_) *
           static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    return static_cast<double>(plan_.steps * plan_.batch * plan_.directions * plan_.hidden) *
           static_cast<double>((plan_.inputs + plan_.hidden) * plan_.gates) / kMultiplyAddsPerNs;
  }

 private:
  /// Rate of one worker, roughly: cost_ns only decides what is worth dividing.
  static constexpr double kMultiplyAddsPerNs = 15;

  void check_lengths(const Run& run, const std::int32_t* lengths) const {
    for (std::int64_t i = 0; lengths != nullptr && i < plan_.batch; ++i) {
      if (lengths[i] >= 0 && lengths[i] <= plan_.steps) continue;
      return run.fail(reference::length_outside(op(), lengths[i], plan_.steps));
    }
  }

  /// The weights from the package, or packed into `own` if the package has none in this form.
  const float* packed(int input, FloatBuffer* own) const {
    const sluice_operand& operand = op().inputs[input];
    const std::int64_t floats = packed_gru_operand_floats(op(), input, isa_);
    if (operand.packed != nullptr && operand.packed_bytes == floats * 4) {
      return static_cast<const float*>(operand.packed);
    }
    *own = FloatBuffer(floats);
    pack_gru(op(), input, isa_, own->data());
    return own->data();
  }

  void pack_bias() {
    const std::int64_t each = SLUICE_CPU_PICK(isa_, packed_gru_bias_floats)(plan_);
    bias_ = FloatBuffer(each * plan_.directions);
    const auto* from = has_input(op(), kGruB)
                           ? static_cast<const float*>(op().inputs[kGruB].tensor.data)
                           : nullptr;
    for (std::int64_t d = 0; d < plan_.directions; ++d) {
      const float* own = from == nullptr ? nullptr : from + d * 2 * plan_.gates * plan_.hidden;
      SLUICE_CPU_PICK(isa_, pack_gru_bias)(plan_, own, bias_.data() + d * each);
    }
  }

  GruPlan plan_;
  Isa isa_;
  FloatBuffer own_w_;
  FloatBuffer own_r_;
  FloatBuffer bias_;
  const float* w_ = nullptr;
  const float* r_ = nullptr;
};

Status make_gru(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const GruPlan plan = plan_of(op);
  const auto x = dims_of(op.inputs[kGruX].tensor);
  if (x[0] < 1 || x[1] < 1 || plan.hidden < 1 || plan.inputs < 1 || x[2] != plan.inputs) {
    return unimplemented("GRU or RNN over nothing");
  }
  const bool is_double = plugin::Attributes(op).get_text("direction") == "bidirectional";
  const std::int64_t rows = plan.gates * plan.hidden;
  const Dims w = {plan.directions, rows, plan.inputs};
  const Dims r = {plan.directions, rows, plan.hidden};
  const Dims b = {plan.directions, 2 * rows};
  if (plan.directions != (is_double ? 2 : 1) ||
      !std::ranges::equal(dims_of(op.inputs[kGruW].tensor), w) ||
      !std::ranges::equal(dims_of(op.inputs[kGruR].tensor), r) ||
      (has_input(op, kGruB) && !std::ranges::equal(dims_of(op.inputs[kGruB].tensor), b))) {
    return unimplemented("weights of other shapes");
  }
  *kernel = std::make_unique<Gru>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> gru_entries() {
  OpEntry entry = {.kind = "GRU",
                   .check = check_gru,
                   .make = make_gru,
                   .packing = gru_packing,
                   .pack = pack_gru,
                   .num_required_inputs = 3};
  OpEntry rnn = entry;
  rnn.kind = "RNN";
  return {entry, rnn};
}

}  // namespace sluice::cpu
