#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file.h"
#include "ir/numbers/short_float.h"
#include "passes/match.h"
#include "passes/precision/narrow_weights.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

// Algebra: s (w x + b) + t = (s w) x + (s b + t), but for rounding. That needs numbers with which
// neither products overflow or lose digits, nor s b and t cancel: see `scaled` and `joined_shift`.

/// y = scale * x + shift, per channel. All are finite.
struct Affine {
  std::vector<float> scale, shift;
};

/// The numbers of a constant of that type; nullopt for anything else.
std::optional<std::vector<double>> values_of(const ir::Subgraph& subgraph, ir::OperandId id,
                                             ir::ElementType element) {
  const ir::Constant* constant = subgraph.find_constant(id);
  if (constant == nullptr || constant->type.element() != element) return std::nullopt;
  return ir::float_values(*constant);
}

std::optional<std::vector<double>> f32_values(const ir::Subgraph& subgraph, ir::OperandId id) {
  return values_of(subgraph, id, ir::ElementType::kF32);
}

bool is_factor(float number) { return number == 0 || is_moderate(number); }

/// s * b + t. nullopt if it is not finite, or if b or t are large and cancel: then the sum with b
/// had dropped digits of what was added to it.
std::optional<float> joined_shift(double s, double b, double t) {
  constexpr double kLarge = 0x1p12;
  const double sum = s * b + t;
  const double largest = std::max({std::abs(b), std::abs(s * b), std::abs(t)});
  if (!(largest <= 0x1p100) || (largest > kLarge && std::abs(sum) < largest / 16)) {
    return std::nullopt;
  }
  return static_cast<float>(sum);
}

/// `element`: the type of all four parameters.
std::optional<Affine> affine_of(const ir::Subgraph& subgraph, const ir::Operation& norm,
                                ir::ElementType element) {
  const auto scale = values_of(subgraph, norm.input(1), element);
  const auto bias = values_of(subgraph, norm.input(2), element);
  const auto mean = values_of(subgraph, norm.input(3), element);
  const auto variance = values_of(subgraph, norm.input(4), element);
  if (!scale || !bias || !mean || !variance) return std::nullopt;
  const std::size_t channels = scale->size();
  if (bias->size() != channels || mean->size() != channels || variance->size() != channels) {
    return std::nullopt;
  }
  const double epsilon = norm.attributes.get_or("epsilon", 1e-5F);
  Affine affine;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = (*scale)[c] / std::sqrt((*variance)[c] + epsilon);
    affine.scale.push_back(static_cast<float>(factor));
    affine.shift.push_back(static_cast<float>((*bias)[c] - (*mean)[c] * factor));
  }
  const bool fits = std::ranges::all_of(affine.scale, is_factor) &&
                    std::ranges::all_of(affine.shift, [](float t) { return std::isfinite(t); });
  return fits ? std::optional(std::move(affine)) : std::nullopt;
}

/// The number of elements of an f32 constant; 0 for anything else.
std::size_t count_f32(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Constant* constant = subgraph.find_constant(id);
  if (constant == nullptr || constant->type.element() != ir::ElementType::kF32) return 0;
  return constant->data.size() / sizeof(float);
}

/// Multiplies by the factor. False if numbers are not finite or became too large, or if the largest
/// lost digits.
bool multiply(std::span<float> values, float factor) {
  float before = 0;
  float after = 0;
  bool is_finite = true;
  for (float& value : values) {
    before = std::max(before, std::fabs(value));
    value *= factor;
    after = std::max(after, std::fabs(value));
    is_finite = is_finite && std::isfinite(value);
  }
  const bool is_zero = before == 0 || factor == 0;
  return is_finite && before <= 0x1p100F && (is_zero || (after >= 0x1p-100F && after <= 0x1p100F));
}

/// Equal parts of the elements, one behind the other, times one factor each, and rounded to the
/// type that `narrow` names; nullopt if `multiply` fails. The constant may be large, mapped and
/// unaligned: it is read once and leaves memory again.
std::optional<ir::Constant> scaled(const ir::Constant& constant, const std::vector<float>& factors,
                                   std::optional<ir::ElementType> narrow) {
  MutableBytes product = MutableBytes::copy_of(constant.data.view());
  release_pages(constant.data.view());
  const std::span values(reinterpret_cast<float*>(product.view().data()),
                         constant.data.size() / sizeof(float));
  const std::size_t part = values.size() / factors.size();
  for (std::size_t c = 0; c < factors.size(); ++c) {
    if (!multiply(values.subspan(c * part, part), factors[c])) return std::nullopt;
  }
  if (narrow) round_weights(*narrow, values);
  return ir::Constant{constant.type, std::move(product).freeze()};
}

/// The convolution that gives `x`, if its weights can take a scale.
const ir::Operation* find_conv(const Matcher& matcher, ir::OperandId x, std::size_t channels) {
  const ir::Operation* conv = matcher.find(x, "Conv");
  if (conv == nullptr || !matcher.uses().has_single_use(x)) return nullptr;
  const auto count = count_f32(matcher.subgraph(), conv->input(1));
  if (count == 0 || count % channels != 0) return nullptr;
  const auto bias = f32_values(matcher.subgraph(), conv->input(2));
  const bool fits = conv->input(2).is_valid() ? bias && bias->size() == channels : true;
  return fits ? conv : nullptr;
}

/// The weights times a factor per channel; the same ones if they do not change.
std::optional<ir::OperandId> scaled_weights(ir::Subgraph& subgraph, const ir::Operation& conv,
                                            const std::vector<float>& factors) {
  const auto is_one = [](float factor) { return factor == 1.0F; };
  if (std::all_of(factors.begin(), factors.end(), is_one)) return conv.input(1);
  const ir::Constant& weights = *subgraph.find_constant(conv.input(1));
  auto product = scaled(weights, factors, narrow_type(conv));
  if (!product) return std::nullopt;
  return subgraph.add_constant("", std::move(*product));
}

std::optional<std::vector<float>> joined_shifts(const Affine& affine,
                                                const std::optional<std::vector<double>>& bias) {
  std::vector<float> shifts;
  for (std::size_t c = 0; c < affine.scale.size(); ++c) {
    const auto joined = joined_shift(affine.scale[c], bias ? (*bias)[c] : 0, affine.shift[c]);
    if (!joined) return std::nullopt;
    shifts.push_back(*joined);
  }
  return shifts;
}

/// nullopt if its numbers would not fit.
std::optional<ir::Operation> scaled_conv(ir::Subgraph& subgraph, const ir::Operation& conv,
                                         const Affine& affine) {
  const std::size_t channels = affine.scale.size();
  const auto shifts = joined_shifts(affine, f32_values(subgraph, conv.input(2)));
  if (!shifts) return std::nullopt;
  const auto weights = scaled_weights(subgraph, conv, affine.scale);
  if (!weights) return std::nullopt;
  ir::Operation result = conv;
  result.inputs.resize(3);
  result.inputs[1] = *weights;
  result.inputs[2] = subgraph.add_constant(
      "", ir::make_f32_constant(*shifts, {static_cast<std::int64_t>(channels)}));
  return result;
}

/// [C] as [C,1,1] for x of rank 4.
ir::OperandId add_per_channel(ir::Subgraph& subgraph, const std::vector<float>& values,
                              std::size_t rank) {
  ir::Shape shape(rank - 1, ir::Dim(1));
  shape.front() = static_cast<std::int64_t>(values.size());
  return subgraph.add_constant("", ir::make_f32_constant(values, std::move(shape)));
}

void replace_by_product_and_sum(ir::Subgraph& subgraph, ir::OperationId at, const Affine& affine) {
  const ir::Operation norm = subgraph.operation(at);
  const ir::Type& type = subgraph.operand(norm.inputs[0]).type;
  const std::size_t rank = type.shape()->size();
  const ir::OperandId scale = add_per_channel(subgraph, affine.scale, rank);
  const ir::OperandId shift = add_per_channel(subgraph, affine.shift, rank);
  const ir::OperandId product = add_operand(subgraph, subgraph.operand(norm.outputs[0]).type);
  ir::Operation multiply = make_operation(subgraph, "Mul", {norm.inputs[0], scale}, product);
  multiply.name = norm.name;
  subgraph.insert_operation(at, std::move(multiply));
  subgraph.operation(at) = make_operation(subgraph, "Add", {product, shift}, norm.outputs[0]);
}

/// Whether the statistics are inputs, one per channel.
bool is_inference(const ir::Subgraph& subgraph, const ir::Operation& norm) {
  const ir::Shape* shape = subgraph.operand(norm.inputs[0]).type.shape();
  const ir::Shape* scale = subgraph.operand(norm.inputs[1]).type.shape();
  return norm.attributes.get_or("training_mode", std::int64_t{0}) == 0 &&
         norm.outputs.size() == 1 && shape != nullptr && shape->size() >= 2 && scale != nullptr &&
         scale->size() == 1 && (!(*shape)[1].is_known() || (*shape)[1] == (*scale)[0]);
}

/// The convolution takes the place of the operation `at`, which scales and shifts its result. False
/// if its numbers would not fit.
bool replace_by_conv(ir::Subgraph& subgraph, ir::OperationId at, const ir::Operation& conv,
                     const Affine& affine) {
  auto scaled = scaled_conv(subgraph, conv, affine);
  if (!scaled) return false;
  scaled->outputs = subgraph.operation(at).outputs;
  subgraph.operation(at) = std::move(*scaled);
  return true;
}

bool fuse_norm(ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
  const ir::Operation& norm = subgraph.operation(at);
  if (!is_inference(subgraph, norm)) return false;
  const auto affine = affine_of(subgraph, norm, ir::ElementType::kF32);
  if (!affine) return false;
  const auto* conv = find_conv(matcher, norm.inputs[0], affine->scale.size());
  if (conv != nullptr && replace_by_conv(subgraph, at, *conv, *affine)) return true;
  replace_by_product_and_sum(subgraph, at, *affine);
  return true;
}

/// A constant that is one number, or one per channel of a tensor of that rank.
std::optional<std::vector<float>> per_channel(const ir::Subgraph& subgraph, ir::OperandId id,
                                              std::size_t rank, std::size_t channels) {
  const std::size_t count = count_f32(subgraph, id);
  if (count != 1 && count != channels) return std::nullopt;
  const ir::Shape& shape = *subgraph.operand(id).type.shape();
  const bool lies_along = shape.size() + 1 >= rank && shape.size() <= rank &&
                          shape[shape.size() + 1 - rank].is(static_cast<std::int64_t>(count));
  if (count == 1 ? shape.size() > rank : !lies_along) return std::nullopt;
  const auto values = *f32_values(subgraph, id);
  if (count == 1) return std::vector<float>(channels, static_cast<float>(values.front()));
  return std::vector<float>(values.begin(), values.end());
}

/// A Mul or an Add with a constant behind a convolution.
bool fuse_constant(ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
  const ir::Operation& operation = subgraph.operation(at);
  for (const std::size_t side : {0, 1}) {
    const ir::Operation* conv = matcher.find(operation.inputs[side], "Conv");
    const auto weights =
        conv == nullptr ? std::nullopt : subgraph.operand(conv->input(1)).type.static_dims();
    if (!weights) continue;
    const auto channels = static_cast<std::size_t>(weights->front());
    auto values = per_channel(subgraph, operation.inputs[1 - side], weights->size(), channels);
    if (!values || find_conv(matcher, operation.inputs[side], channels) == nullptr) continue;
    const bool is_product = operation.is("Mul");
    if (is_product && !std::ranges::all_of(*values, is_factor)) continue;
    Affine affine = {std::vector<float>(channels, 1.0F), std::vector<float>(channels)};
    (is_product ? affine.scale : affine.shift) = std::move(*values);
    return replace_by_conv(subgraph, at, *conv, affine);
  }
  return false;
}

// ---- convolutions that a backend computes in 16 bits

/// Rounded to the element of `type`. nullopt if a number is not finite there, or if the largest
/// loses digits.
std::optional<ir::Constant> in_halves(std::span<const float> values, const ir::Type& type) {
  const bool is_f16 = type.element() == ir::ElementType::kF16;
  const float least_normal = is_f16 ? 0x1p-14F : 0x1p-126F;
  std::vector<std::byte> data(values.size() * sizeof(std::uint16_t));
  float largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits =
        is_f16 ? ir::narrow_to_f16(values[i]) : ir::narrow_to_bf16(values[i]);
    if (!std::isfinite(is_f16 ? ir::widen_f16(bits) : ir::widen_bf16(bits))) return std::nullopt;
    largest = std::max(largest, std::fabs(values[i]));
    std::memcpy(data.data() + i * sizeof bits, &bits, sizeof bits);
  }
  if (largest > 0 && largest < least_normal) return std::nullopt;
  return ir::Constant{type, Bytes::own(std::move(data))};
}

/// The weights of a convolution times a factor per channel, rounded once.
std::optional<ir::Constant> scaled_halves(const ir::Constant& weights,
                                          const std::vector<float>& factors) {
  const auto numbers = ir::float_values(weights);
  if (!numbers || numbers->size() % factors.size() != 0) return std::nullopt;
  std::vector<float> values(numbers->begin(), numbers->end());
  const std::size_t part = values.size() / factors.size();
  for (std::size_t c = 0; c < factors.size(); ++c) {
    if (!multiply(std::span(values).subspan(c * part, part), factors[c])) return std::nullopt;
  }
  return in_halves(values, weights.type);
}

/// The convolution with the normalization `affine` behind it.
std::optional<ir::Operation> scaled_half_conv(ir::Subgraph& subgraph, const ir::Operation& conv,
                                              const Affine& affine) {
  const ir::Constant* weights = subgraph.find_constant(conv.input(1));
  if (weights == nullptr) return std::nullopt;
  const ir::ElementType element = weights->type.element();
  const auto bias = values_of(subgraph, conv.input(2), element);
  if (conv.input(2).is_valid() && (!bias || bias->size() != affine.scale.size())) {
    return std::nullopt;
  }
  const auto shifts = joined_shifts(affine, bias);
  if (!shifts) return std::nullopt;
  auto scaled = scaled_halves(*weights, affine.scale);
  const auto channels = static_cast<std::int64_t>(shifts->size());
  auto shift = in_halves(*shifts, ir::Type::tensor(element, ir::Shape{ir::Dim(channels)}));
  if (!scaled || !shift) return std::nullopt;
  ir::Operation result = conv;
  result.inputs.resize(3);
  result.inputs[1] = subgraph.add_constant("", std::move(*scaled));
  result.inputs[2] = subgraph.add_constant("", std::move(*shift));
  return result;
}

/// Only where the convolution stays in 16 bits: elsewhere the sums in 32 bits are more exact.
bool fuse_half_norm(const ir::Graph& graph, ir::Subgraph& subgraph, const Matcher& matcher,
                    ir::OperationId at, const PassContext& context) {
  const ir::Operation& norm = subgraph.operation(at);
  const ir::Type& type = subgraph.operand(norm.inputs[0]).type;
  const bool is_half = type.is_tensor() && (type.element() == ir::ElementType::kF16 ||
                                            type.element() == ir::ElementType::kBf16);
  if (!is_half || !is_inference(subgraph, norm)) return false;
  const ir::Operation* conv = matcher.find(norm.inputs[0], "Conv");
  if (conv == nullptr || !matcher.uses().has_single_use(norm.inputs[0])) return false;
  if (!context.native_halves(graph, subgraph, *conv)) return false;
  const auto affine = affine_of(subgraph, norm, type.element());
  if (!affine) return false;
  auto scaled = scaled_half_conv(subgraph, *conv, *affine);
  if (!scaled) return false;
  scaled->outputs = norm.outputs;
  subgraph.operation(at) = std::move(*scaled);
  return true;
}

}  // namespace

Result<int> fuse_half_norms(ir::Graph& graph, const PassContext& context) {
  if (!context.native_halves) return 0;
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    ir::Subgraph& subgraph = graph.subgraph(id);
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    const Matcher matcher(subgraph);
    int num_found = 0;
    for (const ir::OperationId at : order) {
      const ir::Operation& operation = subgraph.operation(at);
      if (operation.body || !operation.is("BatchNormalization")) continue;
      num_found += fuse_half_norm(graph, subgraph, matcher, at, context) ? 1 : 0;
    }
    if (num_found > 0) sweep(subgraph);
    return num_found;
  });
}

Result<int> fuse_batch_norm(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_operations(
      graph, [](ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
        const ir::Operation& operation = subgraph.operation(at);  // until a rewrite moves it
        if (operation.body) return false;
        if (operation.is("BatchNormalization")) return fuse_norm(subgraph, matcher, at);
        return (operation.is("Mul") || operation.is("Add")) && fuse_constant(subgraph, matcher, at);
      });
}

}  // namespace sluice::passes
