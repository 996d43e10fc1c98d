// Convolution with constant weights.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "conv/depthwise.h"
#include "ops/conv_op.h"
#include "ops/elementwise.h"
#include "ops/float_buffer.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

/// Weights in the form of the kernel that the shape and layouts call for.
struct WeightsForm {
  WeightsForm(const ConvShape& s, Isa isa) : shape(s) {
    if (!is_depthwise(s)) packing.emplace(s, *SLUICE_CPU_PICK(isa, kConvTiles));
  }

  std::int64_t bytes() const {
    const std::int64_t floats = packing ? packing->size() : packed_depthwise_size(shape);
    return floats * static_cast<std::int64_t>(sizeof(float));
  }
  void pack(const float* weights, float* packed) const {
    if (packing) {
      packing->pack(weights, packed);
    } else {
      pack_depthwise(shape, weights, packed);
    }
  }

  ConvShape shape;
  std::optional<ConvPacking> packing;  ///< none: depthwise
};

sluice_packing packing(const sluice_op& op, int input, Isa isa) {
  sluice_packing result = {};
  if (input != 1) return result;
  const ConvShape shape = conv_weights_shape(op);
  const WeightsForm form(shape, isa);
  const char* kind = !form.packing                         ? "depthwise"
                     : shape.in_layout == Layout::kBlocked ? "blocked"
                                                           : "planes";
  result.size_bytes = form.bytes();
  std::snprintf(result.format, sizeof result.format, "conv/%s/%s/g%lld", kind,
                form.packing ? isa_name(isa) : "any", static_cast<long long>(shape.groups));
  return result;
}

void pack(const sluice_op& op, int /*input*/, Isa isa, void* packed) {
  WeightsForm(conv_weights_shape(op), isa)
      .pack(static_cast<const float*>(op.inputs[1].tensor.data), static_cast<float*>(packed));
}

class Conv : public Kernel {
 public:
  Conv(const sluice_op& op, ConvOp conv, Isa isa)
      : Kernel(op),
        residual_input_(conv.residual_input),
        body_sources_(std::move(conv.body_sources)),
        plan_(plan(conv, isa)) {
    take_weights(conv.shape, isa);
    take_bias(conv.shape.out_channels);
    const Extent out = conv.shape.output();
    const std::int64_t channels_per_group = conv.shape.in_channels / conv.shape.groups;
    sums_ = static_cast<double>(conv.shape.batch * conv.shape.out_channels * out.h * out.w) *
            static_cast<double>(channels_per_group * conv.shape.kernel.h * conv.shape.kernel.w);
    if (!conv.chain.body.empty()) {
      second_pass_.emplace(std::move(conv.chain), op.outputs[0].tensor, isa);
    }
  }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (phase == 1) return second_pass_->run(run, run.output<float>(0), worker);
    ConvArgs args;
    args.input = run.input<float>(0);
    args.weights = weights_;
    args.bias = bias_.data();
    if (residual_input_ >= 0) args.residual = run.input<float>(residual_input_);
    args.output = run.output<float>(0);
    for (std::size_t i = 1; i < body_sources_.size(); ++i) {
      args.extra[i] = source_address(body_sources_[i], run);
    }
    if (const auto* dense = std::get_if<ConvPlan>(&plan_)) {
      run_conv(*dense, args, worker);
    } else {
      run_depthwise(std::get<DepthwisePlan>(plan_), args, worker);
    }
  }

  int phases() const override { return second_pass_ ? 2 : 1; }
  std::int64_t scratch_bytes() const override {
    const std::int64_t own =
        std::visit([](const auto& plan) { return plan.scratch_bytes(); }, plan_);
    return std::max(own, second_pass_ ? second_pass_->scratch_bytes() : 0);
  }
  double cost_ns() const override {
    return sums_ / 80 + (second_pass_ ? second_pass_->cost_ns() : 0);
  }
  std::uint32_t in_place_inputs() const override {
    return residual_input_ >= 0 && residual_input_ < 32 ? 1U << residual_input_ : 0;
  }

 private:
  using Plan = std::variant<ConvPlan, DepthwisePlan>;

  static Plan plan(const ConvOp& conv, Isa isa) {
    if (is_depthwise(conv.shape)) return plan_depthwise(conv.shape, conv.epilogue, isa);
    return plan_conv(conv.shape, conv.epilogue, isa);
  }

  /// From the package if it holds the right form, else packed here.
  void take_weights(const ConvShape& shape, Isa isa) {
    const sluice_operand& operand = op().inputs[1];
    const WeightsForm form(shape, isa);
    weights_ = static_cast<const float*>(operand.packed);
    if (weights_ != nullptr && operand.packed_bytes == form.bytes()) return;
    own_weights_ = FloatBuffer(form.bytes() / static_cast<std::int64_t>(sizeof(float)));
    form.pack(static_cast<const float*>(operand.tensor.data), own_weights_.data());
    weights_ = own_weights_.data();
  }

  void take_bias(std::int64_t channels) {
    bias_.assign(static_cast<std::size_t>(blocks_of(channels) * kBlock), 0.0F);
    if (op().num_inputs < 3 || plugin::is_absent(op().inputs[2].tensor)) return;
    std::copy_n(static_cast<const float*>(op().inputs[2].tensor.data), channels, bias_.begin());
  }

  int residual_input_;
  std::vector<ChainSource> body_sources_;
  Plan plan_;
  FloatBuffer own_weights_;
  const float* weights_ = nullptr;
  std::vector<float> bias_;
  double sums_ = 0;
  std::optional<ElementwisePass> second_pass_;
};

/// Ok if the constants are there, packed for this instruction set or as they were.
Status check_constants(const sluice_op& op, const ConvShape& shape, Isa isa) {
  const sluice_operand& weights = op.inputs[1];
  const bool is_packed =
      weights.packed != nullptr && weights.packed_bytes == WeightsForm(shape, isa).bytes();
  const bool has_bias = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  if ((!is_packed && weights.tensor.data == nullptr) ||
      (has_bias && op.inputs[2].tensor.data == nullptr)) {
    return plugin::invalid_argument(
        "Conv: the packed weights do not fit and the originals are gone; compile the model again");
  }
  return plugin::ok();
}

Status make(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  ConvOp conv;
  if (Status status = read_conv(op, &conv); !status.is_ok()) return status;
  if (Status status = check_constants(op, conv.shape, isa); !status.is_ok()) return status;
  *kernel = std::make_unique<Conv>(op, std::move(conv), isa);
  return plugin::ok();
}

sluice_layout preferred_layout(const sluice_op& /*op*/) { return SLUICE_LAYOUT_C16; }

}  // namespace

std::vector<OpEntry> conv_entries() {
  return {{.kind = "Conv",
           .check = check_conv,
           .make = make,
           .packing = packing,
           .pack = pack,
           .preferred_layout = preferred_layout}};
}

}  // namespace sluice::cpu
