// Convolution with constant weights.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "conv/depthwise/depthwise.h"
#include "conv/winograd/winograd.h"
#include "core/divide.h"
#include "core/float_buffer.h"
#include "ops/columns/column_op.h"
#include "ops/conv/conv_op.h"
#include "ops/conv/conv_tactics.h"
#include "ops/elementwise/elementwise.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

/// How the weights lie that a method reads.
struct WeightsForm {
  ConvShape shape;
  Isa isa;
  ConvMethod method;
  Storage asked = Storage::kF32;  ///< by the model

  /// Weights of depthwise kernels are few. Transformed ones have more bits than the model's, and
  /// their scales are few if the input has at least a block of channels.
  Storage storage() const {
    if (method == ConvMethod::kDirect || asked == Storage::kF32) return asked;
    return tile_of(method) && shape.in_channels >= kBlock ? Storage::kI16 : Storage::kF32;
  }
  /// Requires: the method is Winograd's.
  WinogradWeights transformed() const { return {*tile_of(method), storage()}; }

  std::int64_t bytes() const {
    switch (method) {
      case ConvMethod::kDepthwise:
        return packed_depthwise_size(shape) * static_cast<std::int64_t>(sizeof(float));
      case ConvMethod::kWinogradTwo:
      case ConvMethod::kWinogradFour: return winograd_weights_bytes(shape, isa, transformed());
      case ConvMethod::kDirect: break;
    }
    return direct().size() * storage_bytes(storage());
  }
  void pack(const float* weights, void* packed) const {
    switch (method) {
      case ConvMethod::kDepthwise:
        return pack_depthwise(shape, weights, static_cast<float*>(packed));
      case ConvMethod::kWinogradTwo:
      case ConvMethod::kWinogradFour:
        return pack_winograd(shape, isa, transformed(), weights, packed);
      case ConvMethod::kDirect: break;
    }
    const ConvPacking packing = direct();
    if (storage() == Storage::kF32) return packing.pack(weights, static_cast<float*>(packed));
    FloatBuffer wide(packing.size());
    packing.pack(weights, wide.data());
    SLUICE_CPU_PICK(isa, from_floats)(storage(), wide.data(), packing.size(), packed);
  }
  ConvPacking direct() const { return {shape, *SLUICE_CPU_PICK(isa, kConvTiles)}; }
  const char* name() const {
    const bool has_integers = storage() == Storage::kI16;
    switch (method) {
      case ConvMethod::kDepthwise: return "depthwise";
      case ConvMethod::kWinogradTwo: return has_integers ? "winograd2_i16" : "winograd2";
      case ConvMethod::kWinogradFour: return has_integers ? "winograd_i16" : "winograd";
      case ConvMethod::kDirect: break;
    }
    const bool is_blocked = shape.in_layout == Layout::kBlocked;
    switch (storage()) {
      case Storage::kF16: return is_blocked ? "blocked_f16" : "planes_f16";
      case Storage::kBf16: return is_blocked ? "blocked_bf16" : "planes_bf16";
      default: return is_blocked ? "blocked" : "planes";
    }
  }
};

Storage weights_asked(const sluice_op& op) {
  const std::string_view word = plugin::Attributes(op).get_text("sluice_weights", "f32");
  return word == "f16" ? Storage::kF16 : word == "bf16" ? Storage::kBf16 : Storage::kF32;
}

/// The fastest form, within what the model allows.
WeightsForm best_form(const sluice_op& op, const ConvShape& shape, Isa isa) {
  return {shape, isa, conv_method(op, shape, isa), weights_asked(op)};
}

/// The form of the weights in the package, possibly chosen when less of the shape was known or by
/// an older version, or the best form for unpacked weights. Nullopt if neither fits.
std::optional<WeightsForm> form_at_hand(const sluice_op& op, const ConvShape& shape, Isa isa) {
  const sluice_operand& weights = op.inputs[1];
  const WeightsForm best = best_form(op, shape, isa);
  if (weights.packed != nullptr) {
    if (weights.packed_bytes == best.bytes()) return best;
    for (const ConvMethod method :
         {ConvMethod::kDirect, ConvMethod::kWinogradTwo, ConvMethod::kWinogradFour}) {
      const bool fits = !tile_of(method) || winograd_refusal(shape) == nullptr;
      if (best.method == ConvMethod::kDepthwise || !fits) continue;
      for (const Storage asked : {best.asked, Storage::kF32}) {
        const WeightsForm form = {shape, isa, method, asked};
        if (weights.packed_bytes == form.bytes()) return form;
      }
    }
  }
  return weights.tensor.data == nullptr ? std::nullopt : std::optional(best);
}

sluice_packing conv_packing(const sluice_op& op, int input, Isa isa) {
  sluice_packing result = {};
  if (input != 1 || !check_conv(op).is_ok()) return result;
  const ConvShape shape = conv_weights_shape(op);
  const WeightsForm form = form_at_hand(op, shape, isa).value_or(best_form(op, shape, isa));
  result.size_bytes = form.bytes();
  std::snprintf(result.format, sizeof result.format, "conv/%s/%s/g%lld", form.name(),
                form.method == ConvMethod::kDepthwise ? "any" : isa_name(isa),
                static_cast<long long>(form.shape.groups));
  return result;
}

void pack(const sluice_op& op, int /*input*/, Isa isa, void* packed) {
  best_form(op, conv_weights_shape(op), isa)
      .pack(static_cast<const float*>(op.inputs[1].tensor.data), packed);
}

class Conv : public Kernel {
 public:
  Conv(const sluice_op& op, ConvOp conv, const WeightsForm& form)
      : Kernel(op),
        shape_(conv.shape),
        residual_input_(conv.residual_input),
        body_sources_(std::move(conv.body_sources)),
        plan_(plan(op, conv, form)),
        storage_(form.storage()) {
    take_weights(form);
    take_bias(conv.shape.out_channels);
    const Extent out = conv.shape.output();
    const std::int64_t channels_per_group = conv.shape.in_channels / conv.shape.groups;
    sums_ = static_cast<double>(conv.shape.batch * conv.shape.out_channels * out.h * out.w) *
            static_cast<double>(channels_per_group * conv.shape.kernel.h * conv.shape.kernel.w);
    if (!conv.chain.body.empty()) {
      second_pass_.emplace(std::move(conv.chain), op.outputs[0].tensor, form.isa);
    }
  }

  void run(const Run& run, int phase, const Worker& worker) const override {
    // The part of the fused body that has no place in the epilogue.
    if (phase == 1) return second_pass_->run(run, run.output<float>(0), worker);
    ConvArgs args;
    args.input = run.input<float>(0);
    if (storage_ == Storage::kF32) args.weights = static_cast<const float*>(weights_);
    if (storage_ != Storage::kF32) args.half_weights = static_cast<const std::uint16_t*>(weights_);
    args.bias = bias_.data();
    if (residual_input_ >= 0) args.residual = run.input<float>(residual_input_);
    args.output = run.output<float>(0);
    for (std::size_t i = 1; i < body_sources_.size(); ++i) {
      args.extra[i] = source_address(body_sources_[i], run);
    }
    if (const auto* direct = std::get_if<ConvPlan>(&plan_)) {
      run_conv(*direct, args, worker);
    } else if (const auto* winograd = std::get_if<WinogradPlan>(&plan_)) {
      run_winograd(*winograd, args, worker);
    } else {
      run_depthwise(std::get<DepthwisePlan>(plan_), args, worker);
    }
  }

  void extents(Extents& extents) const override {
    tell_extents(shape_, sizeof(float), sizeof(float), extents);
    if (residual_input_ >= 0) extents.reads(residual_input_, {op().outputs[0].tensor.size_bytes});
    if (second_pass_) second_pass_->extents(extents);
  }

  int phases() const override { return second_pass_ ? 2 : 1; }
  std::int64_t scratch_bytes() const override {
    const std::int64_t own =
        std::visit([](const auto& plan) { return plan.scratch_bytes(); }, plan_);
    return std::max(own, second_pass_ ? second_pass_->scratch_bytes() : 0);
  }
  double cost_ns() const override {
    // Multiply-adds per nanosecond, about.
    return sums_ / 80 + (second_pass_ ? second_pass_->cost_ns() : 0);
  }
  std::uint32_t in_place_inputs() const override {
    return residual_input_ >= 0 && residual_input_ < 32 ? 1U << residual_input_ : 0;
  }

 private:
  using Plan = std::variant<ConvPlan, DepthwisePlan, WinogradPlan>;

  static Plan plan(const sluice_op& op, const ConvOp& conv, const WeightsForm& form) {
    const ConvTactic& tactic = conv_tactic(op, conv.shape, form.isa);
    switch (form.method) {
      case ConvMethod::kDepthwise:
        return plan_depthwise(conv.shape, conv.epilogue, form.isa, tactic.depthwise);
      case ConvMethod::kWinogradTwo:
      case ConvMethod::kWinogradFour:
        return plan_winograd(conv.shape, conv.epilogue, form.isa, form.transformed(),
                             tactic.winograd);
      case ConvMethod::kDirect: break;
    }
    return plan_conv(conv.shape, conv.epilogue, form.isa, tactic.direct, form.storage());
  }

  /// From the package if it holds the right form, else packed here.
  void take_weights(const WeightsForm& form) {
    const sluice_operand& operand = op().inputs[1];
    weights_ = operand.packed;
    if (weights_ != nullptr && operand.packed_bytes == form.bytes()) return;
    own_weights_ = FloatBuffer(divide_up(form.bytes(), 4));
    form.pack(static_cast<const float*>(operand.tensor.data), own_weights_.data());
    weights_ = own_weights_.data();
  }

  void take_bias(std::int64_t channels) {
    // Zeros behind the last channel: kernels load whole blocks.
    bias_.assign(static_cast<std::size_t>(blocks_of(channels) * kBlock), 0.0F);
    if (op().num_inputs < 3 || plugin::is_absent(op().inputs[2].tensor)) return;
    std::copy_n(static_cast<const float*>(op().inputs[2].tensor.data), channels, bias_.begin());
  }

  ConvShape shape_;
  int residual_input_;
  std::vector<ChainSource> body_sources_;
  Plan plan_;
  FloatBuffer own_weights_;
  Storage storage_;
  const void* weights_ = nullptr;
  std::vector<float> bias_;
  double sums_ = 0;
  std::optional<ElementwisePass> second_pass_;
};

Status make_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (!check_conv(op).is_ok()) return make_column_conv(op, isa, kernel);
  ConvOp conv;
  if (Status status = read_conv(op, &conv); !status.is_ok()) return status;
  const auto form = form_at_hand(op, conv.shape, isa);
  const bool has_bias = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  if (!form || (has_bias && op.inputs[2].tensor.data == nullptr)) {
    return plugin::invalid_argument(
        "Conv: the packed weights do not fit and the originals are gone; compile the model again");
  }
  *kernel = std::make_unique<Conv>(op, std::move(conv), *form);
  return plugin::ok();
}

Status check_any_conv(const sluice_op& op) {
  const Status status = check_conv(op);
  return status.is_ok() || !check_column_conv(op).is_ok() ? status : plugin::ok();
}

sluice_layout conv_layout(const sluice_op& op) {
  return check_conv(op).is_ok() ? SLUICE_LAYOUT_C16 : SLUICE_LAYOUT_ROW_MAJOR;
}

std::vector<std::string> conv_tactic_names(const sluice_op& op, Isa isa, int workers) {
  if (!check_conv(op).is_ok()) return {};
  return list_conv_tactics(op, isa, workers);
}

}  // namespace

std::vector<OpEntry> conv_entries() {
  return {{.kind = "Conv",
           .check = check_any_conv,
           .make = make_conv,
           .packing = conv_packing,
           .pack = pack,
           .preferred_layout = conv_layout,
           .tactics = conv_tactic_names,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
