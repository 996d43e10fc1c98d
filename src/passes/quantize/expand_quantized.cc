// Quantized operators, as other tools write them, in terms of plain ones on constant weights.
//
// Algebra: sum((q - z) s (r - y) t) = s t sum((q - z)(r - y)), but for rounding. That needs scales
// with which f32 neither overflows nor loses digits, and each of them along an axis of its factor
// that the sum does not run over. Dynamic quantization may round each row for itself (rewrites.h).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/quantize/byte_products.h"
#include "passes/quantize/quantization.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

/// Whether products may be regrouped around these numbers.
bool are_moderate(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, is_moderate);
}

/// Whether the shape is that of one number for a whole tensor.
bool is_single(const ir::Shape& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0].is(1));
}

/// The axis of a DequantizeLinear of `x` with these parameters: one for the tensor, or one per
/// index of the axis `from_end` before the last. nullopt if they have another form.
std::optional<std::int64_t> dequantized_axis(const ir::Subgraph& subgraph, ir::OperandId x,
                                             ir::OperandId scale, ir::OperandId zero,
                                             std::size_t from_end) {
  const ir::Shape* shape = type_of(subgraph, x).shape();
  const ir::Shape* scales = type_of(subgraph, scale).shape();
  const ir::Shape* zeros = zero.is_valid() ? type_of(subgraph, zero).shape() : scales;
  if (shape == nullptr || scales == nullptr || zeros == nullptr) return std::nullopt;
  if (is_single(*scales) && is_single(*zeros)) return 0;
  if (scales->size() != 1 || *scales != *zeros || shape->size() <= from_end) return std::nullopt;
  const std::size_t axis = shape->size() - 1 - from_end;
  if ((*scales)[0] != (*shape)[axis]) return std::nullopt;
  return static_cast<std::int64_t>(axis);
}

/// The steps times their scales: one, or one per index of `axis`.
std::optional<ir::Constant> as_floats(const Bytes8& bytes, const std::vector<double>& scales,
                                      std::size_t axis) {
  const auto count = static_cast<std::size_t>(bytes.shape[axis].value());
  if (scales.size() != 1 && scales.size() != count) return std::nullopt;
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < bytes.shape.size(); ++d) {
    inner *= static_cast<std::size_t>(bytes.shape[d].value());
  }
  std::vector<float> floats;
  floats.reserve(bytes.steps.size());
  for (std::size_t i = 0; i < bytes.steps.size(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : i / inner % count];
    floats.push_back(static_cast<float>(static_cast<double>(bytes.steps[i]) * scale));
  }
  return ir::make_f32_constant(floats, bytes.shape);
}

std::optional<std::vector<double>> constant_floats(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Constant* constant = subgraph.find_constant(id);
  return constant == nullptr ? std::nullopt : ir::float_values(*constant);
}

/// Constant weights as signed bytes around 0, for which there are kernels; nullopt if a byte is too
/// far from its zero point.
std::optional<ir::OperandId> centered(ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId zero,
                                      std::size_t axis) {
  const auto bytes = read_bytes(subgraph, id, zero, axis);
  if (!bytes) return std::nullopt;
  std::vector<std::byte> data;
  for (const std::int64_t step : bytes->steps) {
    if (step < -128 || step > 127) return std::nullopt;
    data.push_back(static_cast<std::byte>(static_cast<std::int8_t>(step)));
  }
  return subgraph.add_constant(
      "", {ir::Type::tensor(ElementType::kI8, bytes->shape), sluice::Bytes::own(std::move(data))});
}

// ---- dynamic quantization -----------------------------------------------------------------------

/// An integer product of dynamically quantized bytes, its sums cast and scaled back to floats.
struct DynamicProduct {
  ir::OperandId x;                    ///< before the quantization
  std::vector<ir::OperandId> scales;  ///< constant factors behind the product
  ir::OperationId last;               ///< the last multiplication
};

class DynamicReader {
 public:
  explicit DynamicReader(const Matcher& matcher)
      : matcher_(matcher), subgraph_(matcher.subgraph()) {}

  std::optional<DynamicProduct> read(const ir::Operation& product) {
    const ir::Operation* quantize = matcher_.find(product.input(0), "DynamicQuantizeLinear");
    if (quantize == nullptr || product.input(2) != quantize->output(2)) return std::nullopt;
    found_.x = quantize->input(0);
    scale_ = quantize->output(1);
    ir::OperationId at;
    const ir::Operation* cast = matcher_.only_reader(product.output(0), &at);
    if (cast == nullptr || !cast->is("Cast") ||
        type_of(subgraph_, cast->output(0)).element() != ElementType::kF32) {
      return std::nullopt;
    }
    ir::OperandId value = cast->output(0);
    while (!has_scale_) {
      const ir::Operation* mul = matcher_.only_reader(value, &at);
      if (mul == nullptr || !mul->is("Mul") || mul->body ||
          !read_factor(Matcher::other_input(*mul, value))) {
        return std::nullopt;
      }
      value = mul->output(0);
      found_.last = at;
    }
    return found_;
  }

 private:
  /// The input's scale, a constant, or their product.
  bool read_factor(ir::OperandId id) {
    if (!id.is_valid()) return false;
    if (id == scale_) return !std::exchange(has_scale_, true);
    if (subgraph_.is_constant(id)) {
      found_.scales.push_back(id);
      return true;
    }
    const ir::Operation* both = matcher_.find(id, "Mul");
    return both != nullptr && read_factor(both->input(0)) && read_factor(both->input(1));
  }

  const Matcher& matcher_;
  const ir::Subgraph& subgraph_;
  DynamicProduct found_;
  ir::OperandId scale_;
  bool has_scale_ = false;
};

/// The product of all constant factors; each is one number, or one per channel of the result.
std::optional<std::vector<double>> joined_scales(const ir::Subgraph& subgraph,
                                                 const std::vector<ir::OperandId>& ids,
                                                 std::size_t channels) {
  std::vector<double> joined = {1.0};
  for (const ir::OperandId id : ids) {
    const auto values = constant_floats(subgraph, id);
    if (!values || (values->size() != 1 && values->size() != channels)) return std::nullopt;
    if (values->size() > joined.size()) joined.assign(channels, joined.front());
    for (std::size_t i = 0; i < joined.size(); ++i) {
      joined[i] *= (*values)[values->size() == 1 ? 0 : i];
    }
    if (!are_moderate(*values)) return std::nullopt;
  }
  return are_moderate(joined) ? std::optional(joined) : std::nullopt;
}

/// Whether a factor per channel lies along the axis of the result that has the channels.
bool lie_along(const ir::Subgraph& subgraph, const std::vector<ir::OperandId>& ids,
               std::size_t dims_behind) {
  return std::all_of(ids.begin(), ids.end(), [&](ir::OperandId id) {
    const ir::Shape& shape = *type_of(subgraph, id).shape();
    if (ir::num_elements(shape) == 1) return true;
    return shape.size() > dims_behind && !shape[shape.size() - 1 - dims_behind].is(1);
  });
}

bool same_shape(const ir::Subgraph& subgraph, ir::OperandId a, ir::OperandId b) {
  const ir::Shape* left = type_of(subgraph, a).shape();
  const ir::Shape* right = type_of(subgraph, b).shape();
  return left != nullptr && right != nullptr && *left == *right;
}

/// The product in 8 bits with the weights as they are.
bool keep_bytes(const ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context,
                const DynamicProduct& found, const ir::Operation& product,
                const std::vector<double>& scales) {
  const auto centre = centered(subgraph, product.input(1), product.input(3), 1);
  if (!centre) return false;
  const ir::OperandId result = subgraph.operation(found.last).output(0);
  auto narrow =
      make_byte_product(graph, subgraph, context, found.x, {*centre, scales, false}, result);
  if (!narrow) return false;
  narrow->name = subgraph.operation(found.last).name;
  subgraph.operation(found.last) = std::move(*narrow);
  return true;
}

int expand_dynamic(const ir::Graph& graph, const Matcher& matcher, ir::Subgraph& subgraph,
                   const PassContext& context, ir::OperationId at) {
  const ir::Operation& product = subgraph.operation(at);
  const bool is_conv = product.is("ConvInteger");
  const auto weights_dims = type_of(subgraph, product.input(1)).static_dims();
  if (!weights_dims || (is_conv ? weights_dims->size() < 3 : weights_dims->size() != 2)) return 0;
  const std::size_t axis = is_conv ? 0 : 1;
  const auto found = DynamicReader(matcher).read(product);
  if (!found || !lie_along(subgraph, found->scales, is_conv ? weights_dims->size() - 2 : 0) ||
      !same_shape(subgraph, subgraph.operation(found->last).output(0), product.output(0))) {
    return 0;
  }
  const auto bytes = read_bytes(subgraph, product.input(1), product.input(3), axis);
  const auto channels = static_cast<std::size_t>((*weights_dims)[axis]);
  const auto scales = joined_scales(subgraph, found->scales, channels);
  if (!is_conv && scales && keep_bytes(graph, subgraph, context, *found, product, *scales))
    return 1;
  const auto floats = bytes && scales ? as_floats(*bytes, *scales, axis) : std::nullopt;
  if (!floats) return 0;
  ir::Attributes attributes = product.attributes;
  if (!is_conv) attributes.set("sluice_weights", std::string("int8"));
  const ir::OperandId weights = subgraph.add_constant("", *floats);
  const ir::OperandId result = subgraph.operation(found->last).output(0);
  subgraph.operation(found->last) = make_operation(
      subgraph, is_conv ? "Conv" : "MatMul", {found->x, weights}, result, std::move(attributes));
  return 1;
}

// ---- QOperator ----------------------------------------------------------------------------------

/// Dequantizes and quantizes around an operation on floats that replaces another.
class Expansion {
 public:
  Expansion(ir::Subgraph& subgraph, ir::OperationId at)
      : subgraph_(subgraph), at_(at), source_(subgraph.operation(at)) {}

  const ir::Operation& source() const { return source_; }

  /// Input `index` with the scale and the zero point that follow it.
  ir::OperandId dequantized(std::size_t index, ir::OperandId bytes, ir::OperandId zero,
                            std::int64_t axis) {
    const ir::Type& type = type_of(subgraph_, bytes);
    std::vector<ir::OperandId> inputs = {bytes, source_.input(index + 1)};
    if (zero.is_valid()) inputs.push_back(zero);
    return insert("DequantizeLinear", std::move(inputs), type.with_element(ElementType::kF32),
                  {{"axis", axis}});
  }

  ir::OperandId insert(std::string_view kind, std::vector<ir::OperandId> inputs, ir::Type type,
                       ir::Attributes attributes) {
    const ir::OperandId result = add_operand(subgraph_, std::move(type));
    ir::Operation made =
        make_operation(subgraph_, kind, std::move(inputs), result, std::move(attributes));
    made.name = source_.name;
    subgraph_.insert_operation(at_, std::move(made));
    return result;
  }

  /// `y` quantized with input `scale` and the zero point after it takes the operation's place.
  void finish(ir::OperandId y, std::size_t scale) {
    ir::Operation last =
        make_operation(subgraph_, "QuantizeLinear",
                       {y, source_.input(scale), source_.input(scale + 1)}, source_.output(0));
    last.name = source_.name;
    subgraph_.operation(at_) = std::move(last);
  }

  ir::Type result_type() const {
    return type_of(subgraph_, source_.output(0)).with_element(ElementType::kF32);
  }

 private:
  ir::Subgraph& subgraph_;
  ir::OperationId at_;
  ir::Operation source_;  // a copy: inserting moves operations
};

int expand_conv(ir::Subgraph& subgraph, ir::OperationId at) {
  const ir::Operation& conv = subgraph.operation(at);
  for (const std::size_t i : {1, 4, 6}) {
    if (!subgraph.is_constant(conv.input(i))) return 0;
  }
  const auto x_scale = constant_floats(subgraph, conv.input(1));
  auto w_scale = constant_floats(subgraph, conv.input(4));
  const auto y_scale = constant_floats(subgraph, conv.input(6));
  if (!x_scale || x_scale->size() != 1 || !w_scale || !y_scale || y_scale->size() != 1 ||
      !are_moderate(*x_scale) || !are_moderate(*w_scale) || !are_moderate(*y_scale)) {
    return 0;
  }
  std::optional<std::vector<std::int64_t>> counts;
  if (conv.input(8).is_valid()) {
    const ir::Constant* bias = subgraph.find_constant(conv.input(8));
    counts = bias == nullptr ? std::nullopt : ir::integer_values(*bias);
    if (!counts || (w_scale->size() != 1 && w_scale->size() != counts->size())) return 0;
  }
  const auto centre = centered(subgraph, conv.input(3), conv.input(5), 0);
  if (!centre && !read_bytes(subgraph, conv.input(3), conv.input(5), 0)) return 0;
  const ir::Shape* weights = type_of(subgraph, conv.input(3)).shape();
  if (weights == nullptr || weights->empty() ||
      !dequantized_axis(subgraph, conv.input(3), conv.input(4),
                        centre ? ir::OperandId() : conv.input(5), weights->size() - 1) ||
      dequantized_axis(subgraph, conv.input(0), conv.input(1), conv.input(2), 0) != 0) {
    return 0;
  }
  Expansion expansion(subgraph, at);
  const ir::Operation source = expansion.source();
  std::vector<ir::OperandId> inputs = {
      expansion.dequantized(0, source.input(0), source.input(2), 1),
      centre ? expansion.dequantized(3, *centre, {}, 0)
             : expansion.dequantized(3, source.input(3), source.input(5), 0)};
  if (counts) {
    std::vector<float> bias;
    for (std::size_t i = 0; i < counts->size(); ++i) {
      const double scale = x_scale->front() * (*w_scale)[w_scale->size() == 1 ? 0 : i];
      bias.push_back(static_cast<float>(static_cast<double>((*counts)[i]) * scale));
    }
    inputs.push_back(subgraph.add_constant(
        "", ir::make_f32_constant(bias, {static_cast<std::int64_t>(bias.size())})));
  }
  const ir::OperandId y =
      expansion.insert("Conv", std::move(inputs), expansion.result_type(), source.attributes);
  expansion.finish(y, 6);
  return 1;
}

/// The product's sums in integers, then floats, scaled and quantized: exact, and of a quarter of
/// the bytes. Not without a kernel, or with a scale per row of A.
bool sum_integers(const ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context,
                  ir::OperationId at) {
  const ir::Operation product = subgraph.operation(at);
  const auto dims = type_of(subgraph, product.input(3)).static_dims();
  const auto a_scale = constant_floats(subgraph, product.input(1));
  const auto b_scale = constant_floats(subgraph, product.input(4));
  if (!context.has_kernel || !dims || dims->size() != 2 || a_scale->size() != 1 ||
      !dequantized_axis(subgraph, product.input(3), product.input(4), product.input(5), 0)) {
    return false;
  }
  constexpr std::int64_t kMostRows =
      (std::int64_t{1} << 31) / (255 * 255);  // more may pass 32 bits
  if (dims->front() > kMostRows) return false;
  std::vector<float> scales;
  for (const double scale : *b_scale) {
    scales.push_back(static_cast<float>(scale * a_scale->front()));
    if (!is_moderate(static_cast<double>(scales.back()))) return false;
  }
  const ir::Type floats = type_of(subgraph, product.output(0)).with_element(ElementType::kF32);
  const std::vector<ir::OperandId> factors = {product.input(0), product.input(3), product.input(2),
                                              product.input(5)};
  const ir::Type sums = floats.with_element(ElementType::kI32);
  if (!context.has_kernel(graph, subgraph,
                          make_operation(subgraph, "MatMulInteger", factors,
                                         add_operand(subgraph, ir::Type(sums))))) {
    return false;
  }
  Expansion expansion(subgraph, at);
  const ir::OperandId sum = expansion.insert("MatMulInteger", factors, sums, {});
  const ir::OperandId y = expansion.insert("Cast", {sum}, floats,
                                           {{"to", static_cast<std::int64_t>(ElementType::kF32)}});
  const ir::Shape shape =
      scales.size() == 1 ? ir::Shape{} : ir::Shape{static_cast<std::int64_t>(scales.size())};
  const ir::OperandId factor = subgraph.add_constant("", ir::make_f32_constant(scales, shape));
  expansion.finish(expansion.insert("Mul", {y, factor}, floats, {}), 6);
  return true;
}

/// A scale per row of A or per column of B stays with its factor.
int expand_matmul(const ir::Graph& graph, ir::Subgraph& subgraph, const PassContext& context,
                  ir::OperationId at) {
  const ir::Operation product = subgraph.operation(at);
  for (const std::size_t i : {1, 4, 6}) {
    const auto scale = constant_floats(subgraph, product.input(i));
    if (!scale || !are_moderate(*scale)) return 0;
  }
  if (!is_single(*type_of(subgraph, product.input(6)).shape())) return 0;
  if (sum_integers(graph, subgraph, context, at)) return 1;
  const auto x_axis =
      dequantized_axis(subgraph, product.input(0), product.input(1), product.input(2), 1);
  const auto dims = type_of(subgraph, product.input(3)).static_dims();
  std::optional<ir::OperandId> centre;
  if (dims && dims->size() == 2 && subgraph.is_constant(product.input(3))) {
    centre = centered(subgraph, product.input(3), product.input(5), 1);
  }
  const auto w_axis = dequantized_axis(subgraph, product.input(3), product.input(4),
                                       centre ? ir::OperandId() : product.input(5), 0);
  if (!x_axis || !w_axis) return 0;
  Expansion expansion(subgraph, at);
  const ir::OperandId x = expansion.dequantized(0, product.input(0), product.input(2), *x_axis);
  const ir::OperandId w =
      centre ? expansion.dequantized(3, *centre, {}, *w_axis)
             : expansion.dequantized(3, product.input(3), product.input(5), *w_axis);
  expansion.finish(expansion.insert("MatMul", {x, w}, expansion.result_type(), {}), 6);
  return 1;
}

/// Weights of u8 in a DequantizeLinear become i8 around 0.
int center_weights(ir::Subgraph& subgraph, ir::OperationId at) {
  const ir::Operation& dequantize = subgraph.operation(at);
  const ir::Constant* bytes = subgraph.find_constant(dequantize.input(0));
  if (bytes == nullptr || bytes->type.element() != ElementType::kU8 ||
      dequantize.attributes.get_or("block_size", std::int64_t{0}) != 0) {
    return 0;
  }
  const auto rank = static_cast<std::int64_t>(bytes->type.shape()->size());
  const std::int64_t axis = dequantize.attributes.get_or("axis", std::int64_t{1});
  const ir::OperandId zero = dequantize.input(2);
  if (rank < 2 || axis < -rank || axis >= rank || !zero.is_valid()) return 0;
  const auto centre = centered(subgraph, dequantize.input(0), zero,
                               static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  if (!centre) return 0;
  ir::Operation& changed = subgraph.operation(at);
  changed.inputs[0] = *centre;
  changed.inputs.resize(2);
  return 1;
}

int expand(const ir::Graph& graph, const Matcher& matcher, ir::Subgraph& subgraph,
           const PassContext& context, ir::OperationId at) {
  const ir::Operation& operation = subgraph.operation(at);
  if (!operation.domain.empty() || operation.body) return 0;
  if (operation.kind == "MatMulInteger" || operation.kind == "ConvInteger") {
    return expand_dynamic(graph, matcher, subgraph, context, at);
  }
  if (operation.kind == "DequantizeLinear") return center_weights(subgraph, at);
  if (operation.kind == "QLinearConv") return expand_conv(subgraph, at);
  return operation.kind == "QLinearMatMul" ? expand_matmul(graph, subgraph, context, at) : 0;
}

}  // namespace

Result<int> expand_quantized(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    ir::Subgraph& subgraph = graph.subgraph(id);
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    // The operations between a dynamic quantization and its last scale belong to one product, so
    // they are as they were when its turn comes.
    const Matcher matcher(subgraph);
    int num_expanded = 0;
    for (const ir::OperationId at : order) {
      num_expanded += expand(graph, matcher, subgraph, context, at);
    }
    if (num_expanded > 0) sweep(subgraph);
    return num_expanded;
  });
}

}  // namespace sluice::passes
