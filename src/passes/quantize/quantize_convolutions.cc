#include "passes/quantize/quantize_convolutions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/match.h"
#include "passes/quantize/elementwise_function.h"
#include "passes/quantize/quantization.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;
using ir::OperandId;
using ir::OperationId;

class Planner {
 public:
  Planner(const ir::Subgraph& subgraph, const std::set<std::string>& kept)
      : subgraph_(subgraph), matcher_(subgraph), kept_(kept) {}

  QuantizationPlan plan() {
    for (const OperationId at : subgraph_.order()) {
      if (!is_conv(at)) continue;
      place_of_conv_.emplace(at, plan_.convolutions.size());
      plan_.convolutions.push_back(at);
    }
    for (const OperationId at : plan_.convolutions) want(subgraph_.operation(at).input(0));
    for (const OperationId at : subgraph_.order()) want_one_term(subgraph_.operation(at));
    return std::move(plan_);
  }

 private:
  bool is_image(OperandId id) const {
    const ir::Type& type = subgraph_.operand(id).type;
    return type.is_tensor() && type.element() == ElementType::kF32 && type.shape() != nullptr &&
           (type.shape()->size() == 3 || type.shape()->size() == 4);
  }

  bool is_conv(OperationId at) const {
    const ir::Operation& operation = subgraph_.operation(at);
    if (!operation.is("Conv") || operation.body || kept_.contains(operation.name)) return false;
    const ir::Constant* weights = subgraph_.find_constant(operation.input(1));
    const OperandId bias = operation.input(2);
    return weights != nullptr && computes_with_bytes(subgraph_, operation) &&
           weights->type.element() == ElementType::kF32 && is_image(operation.input(0)) &&
           !subgraph_.is_constant(operation.input(0)) &&
           (!bias.is_valid() || subgraph_.is_constant(bias));
  }

  /// False if it is wanted already.
  bool want_alone(OperandId id) {
    if (!wanted_.insert(id).second) return false;
    plan_.activations.push_back(id);
    return true;
  }

  void want(OperandId id) {
    while (const ir::Operation* pool = matcher_.find(id, "MaxPool")) {
      if (pool->outputs.size() != 1) break;
      id = pool->input(0);
    }
    if (want_alone(id)) want_argument(id);
  }

  /// If `id` is an element-wise function of a convolution's result that the convolution cannot
  /// fuse, quantizes that result: the function then becomes a table look-up.
  void want_argument(OperandId id) {
    const auto is_result = [&](OperandId source) {
      return place_of_conv_.contains(matcher_.uses().producer(source));
    };
    const auto function = read_function(matcher_, id, is_result, is_elementwise);
    if (!function || wanted_.contains(function->source)) return;
    const ir::Operation& last = subgraph_.operation(function->operations.back());
    if (function->operations.size() == 1 && (last.is("Relu") || last.is("Clip"))) return;
    want_alone(function->source);
    plan_.arguments.push_back(function->source);
  }

  bool is_planned_conv(OperandId id) const {
    return id.is_valid() && matcher_.uses().has_single_use(id) &&
           place_of_conv_.contains(matcher_.uses().producer(id));
  }

  /// In a sum of two convolutions, the first result is stored as bytes, and the second convolution
  /// adds them.
  void want_one_term(const ir::Operation& operation) {
    if (!operation.is("Add") || operation.body) return;
    if (is_planned_conv(operation.input(0)) && is_planned_conv(operation.input(1)) &&
        operation.input(0) != operation.input(1)) {
      const auto place = [&](OperandId id) {
        return place_of_conv_.at(matcher_.uses().producer(id));
      };
      const bool is_left = place(operation.input(0)) < place(operation.input(1));
      plan_.activations.push_back(operation.input(is_left ? 0 : 1));
    }
  }

  const ir::Subgraph& subgraph_;
  Matcher matcher_;
  const std::set<std::string>& kept_;
  QuantizationPlan plan_;
  std::unordered_map<OperationId, std::size_t> place_of_conv_;  // in plan_.convolutions
  std::unordered_set<OperandId> wanted_;
};

OperandId add_number(ir::Subgraph& subgraph, float value) {
  return subgraph.add_constant("", ir::make_f32_constant({value}, {}));
}

template <typename T>
OperandId add_bytes(ir::Subgraph& subgraph, ElementType element, const std::vector<T>& values,
                    const ir::Shape& shape) {
  std::vector<std::byte> data(values.size());
  if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
  return subgraph.add_constant("", {ir::Type::tensor(element, shape), Bytes::own(std::move(data))});
}

/// Scale and zero point of a range, extended to include 0.
struct Steps {
  OperandId scale;
  OperandId zero;
};

Steps add_steps(ir::Subgraph& subgraph, const ValueRange& range) {
  const float low = std::min(range.low, 0.0F);
  const float high = std::max(range.high, 0.0F);
  const float scale = high > low ? (high - low) / 255 : 1.0F;
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
  return {
      add_number(subgraph, scale),
      add_bytes<std::uint8_t>(subgraph, ElementType::kU8, {static_cast<std::uint8_t>(zero)}, {})};
}

class Inserter {
 public:
  Inserter(ir::Subgraph& subgraph, const std::map<OperandId, ValueRange>& ranges)
      : subgraph_(subgraph), uses_(subgraph), ranges_(ranges) {}

  void insert(const QuantizationPlan& plan) {
    convolutions_.insert(plan.convolutions.begin(), plan.convolutions.end());
    arguments_.insert(plan.arguments.begin(), plan.arguments.end());
    for (const OperandId id : plan.activations) {
      round_activation(id, add_steps(subgraph_, ranges_.at(id)));
    }
    for (const OperationId at : plan.convolutions) round_weights(at);
  }

 private:
  /// Quantizes and dequantizes `id`.
  OperandId rounded(OperandId id, const Steps& steps, OperationId position) {
    const ir::Type type = subgraph_.operand(id).type;
    const OperandId bytes =
        add_operand(subgraph_, ir::Type::tensor(ElementType::kU8, *type.shape()));
    const OperandId back = add_operand(subgraph_, type);
    subgraph_.insert_operation(position, make_operation(subgraph_, "QuantizeLinear",
                                                        {id, steps.scale, steps.zero}, bytes));
    subgraph_.insert_operation(position, make_operation(subgraph_, "DequantizeLinear",
                                                        {bytes, steps.scale, steps.zero}, back));
    return back;
  }

  /// Readers of `id` that may compute in 8 bits read the rounded value. A MaxPool keeps the
  /// quantization of its input.
  void round_activation(OperandId id, const Steps& steps) {
    const auto readers = uses_.readers(id);
    if (readers.empty()) return;
    const OperandId back = rounded(id, steps, readers.front());
    const bool is_argument = arguments_.contains(id);
    for (const OperationId reader : readers) {
      ir::Operation& operation = subgraph_.operation(reader);
      const bool is_planned = convolutions_.contains(reader);
      const bool is_pool = operation.is("MaxPool") && operation.outputs.size() == 1;
      const bool is_function = is_argument && is_elementwise(operation);
      if (!is_planned && !is_pool && !is_function && !operation.is("Add")) continue;
      const OperandId maxima = operation.output(0);
      std::ranges::replace(operation.inputs, id, back);
      if (is_pool) round_activation(maxima, steps);
    }
  }

  void round_weights(OperationId at) {
    const OperandId source = subgraph_.operation(at).input(1);
    const ir::Constant* constant = subgraph_.find_constant(source);
    const std::vector<double> values = *ir::float_values(*constant);
    const ir::Shape shape = *constant->type.shape();
    const ir::Type type = constant->type;
    const auto channels = static_cast<std::size_t>(shape[0].value());
    const std::size_t per_channel = channels == 0 ? 0 : values.size() / channels;
    std::vector<float> scales;
    std::vector<std::int8_t> bytes;
    bytes.reserve(values.size());
    for (std::size_t m = 0; m < channels; ++m) {
      double most = 0;
      for (std::size_t i = 0; i < per_channel; ++i) {
        most = std::max(most, std::abs(values[m * per_channel + i]));
      }
      const bool has_steps = most > 0 && std::isfinite(most);
      const double step = has_steps ? most / 127 : 1.0;
      scales.push_back(static_cast<float>(step));
      for (std::size_t i = 0; i < per_channel; ++i) {
        const double steps = std::nearbyint(values[m * per_channel + i] / step);
        bytes.push_back(static_cast<std::int8_t>(has_steps ? std::clamp(steps, -127.0, 127.0) : 0));
      }
    }
    const OperandId whole = add_bytes(subgraph_, ElementType::kI8, bytes, shape);
    const OperandId scale = subgraph_.add_constant("", ir::make_f32_constant(scales, {shape[0]}));
    const OperandId back = add_operand(subgraph_, type);
    subgraph_.insert_operation(at, make_operation(subgraph_, "DequantizeLinear", {whole, scale},
                                                  back, axis_of_channels()));
    subgraph_.operation(at).inputs[1] = back;
  }

  static ir::Attributes axis_of_channels() { return {{"axis", std::int64_t{0}}}; }

  ir::Subgraph& subgraph_;
  ir::UseIndex uses_;  // of the subgraph as it was
  std::unordered_set<OperationId> convolutions_;
  std::unordered_set<OperandId> arguments_;
  const std::map<OperandId, ValueRange>& ranges_;
};

}  // namespace

QuantizationPlan plan_quantization(const ir::Subgraph& subgraph,
                                   const std::set<std::string>& kept) {
  return Planner(subgraph, kept).plan();
}

void quantize_convolutions(ir::Subgraph& subgraph, const QuantizationPlan& plan,
                           const std::map<OperandId, ValueRange>& ranges) {
  Inserter(subgraph, ranges).insert(plan);
}

}  // namespace sluice::passes
