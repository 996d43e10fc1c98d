// Operations between DequantizeLinear and QuantizeLinear compute in 8 bits.
//
// Algebra: sums of (q - z)(r - y) are exact in integers, and scales may multiply them afterwards;
// maxima of bytes are bytes of maxima; functions of a byte are tables. Scales are above 0 and
// moderate, numbers of the result do not overflow. One thing is not exact: a rounding between two
// products is dropped, though never its clipping (`behind_rounding`, `ProductNarrower`).
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "passes/quantize/byte_products.h"
#include "passes/quantize/byte_tables.h"
#include "passes/quantize/quantization.h"
#include "passes/quantize/split_weights.h"
#include "passes/rewriter.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

ir::OperandId add_zero_point(ir::Subgraph& subgraph, int zero) {
  return subgraph.add_constant("", {ir::Type::tensor(ElementType::kU8, ir::Shape()),
                                    Bytes::own({static_cast<std::byte>(zero)})});
}

// ---- bytes with sign ----------------------------------------------------------------------------

/// Turns i8 activations into u8 by adding 128, if only DequantizeLinear reads them.
int drop_sign(ir::Subgraph& subgraph, const Matcher& matcher, ir::OperationId at) {
  const ir::OperandId bytes = subgraph.operation(at).output(0);
  const auto quantization = quantization_of(subgraph, subgraph.operation(at));
  if (!quantization || !quantization->has_sign || matcher.uses().is_output(bytes)) return 0;
  const auto readers = matcher.uses().readers(bytes);
  for (const ir::OperationId reader : readers) {
    const ir::Operation& operation = subgraph.operation(reader);
    const auto own = quantization_of(subgraph, operation);
    if (!operation.is("DequantizeLinear") || !own || operation.input(0) != bytes) return 0;
  }
  const auto raise = [&](ir::OperationId id) {
    const int zero = quantization_of(subgraph, subgraph.operation(id))->zero + 128;
    const ir::OperandId constant = add_zero_point(subgraph, zero);
    ir::Operation& operation = subgraph.operation(id);
    operation.inputs.resize(3);
    operation.inputs[2] = constant;
  };
  raise(at);
  for (const ir::OperationId reader : readers) raise(reader);
  subgraph.operation(at).attributes.set("output_dtype", std::int64_t{0});
  const ir::Type& type = type_of(subgraph, bytes);
  subgraph.operand(bytes).type = type.shape() ? ir::Type::tensor(ElementType::kU8, *type.shape())
                                              : ir::Type::tensor(ElementType::kU8);
  return 1;
}

// ---- maxima -------------------------------------------------------------------------------------

/// Quantization is monotonic, so the maximum of the bytes is the byte of the maximum.
///     Quantize[MaxPool[Dequantize[%q]]]   ->   MaxPool[%q]
int pool_bytes(Rewriter& rewriter, ir::OperationId id) {
  const Matcher& matcher = rewriter.matcher();
  const ir::Operation& pool = matcher.subgraph().operation(id);
  if (pool.outputs.size() != 1 || pool.body) return 0;
  const auto from = dequantized_from(matcher, pool.input(0));
  ir::OperationId at;
  const auto to = quantized_to(matcher, pool.output(0), &at);
  if (!from || !to || from->quantization != to->quantization) return 0;
  ir::Operation on_bytes = pool;
  on_bytes.inputs = {from->bytes};
  on_bytes.outputs = {to->bytes};
  rewriter.replace(at, std::move(on_bytes));
  return 1;
}

// ---- convolutions -------------------------------------------------------------------------------

/// An 8-bit convolution and the operations fused after it, in the order of application.
struct QuantizedConv {
  Quantized x;
  QuantizedWeights weights;
  std::optional<SplitWeights> split = {};  ///< in the place of weights.bytes
  std::vector<double> bias;
  std::optional<double> own_low = {}, own_high = {};  ///< bounds before the residual is added
  ir::OperandId residual = {};
  std::optional<Quantization> residual_bytes = {};  ///< none: it is f32
  std::optional<double> low = {}, high = {};
  std::optional<Quantization> result = {};  ///< none: f32
  ir::OperandId output = {};
  ir::OperationId last = {};  ///< writes it now
};

std::optional<std::vector<double>> read_bias(const Matcher& matcher, ir::OperandId id,
                                             std::size_t channels) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  if (!id.is_valid()) return std::vector<double>(channels, 0.0);
  if (const ir::Constant* constant = subgraph.find_constant(id)) return ir::float_values(*constant);
  const ir::Operation* operation = matcher.find(id, "DequantizeLinear");
  if (operation == nullptr || !has_no_zero_point(subgraph, *operation)) return std::nullopt;
  const ir::Constant* steps = subgraph.find_constant(operation->input(0));
  const ir::Constant* scale = subgraph.find_constant(operation->input(1));
  const auto counts = steps ? ir::integer_values(*steps) : std::nullopt;
  const auto scales = scale ? ir::float_values(*scale) : std::nullopt;
  if (!counts || !scales || (scales->size() != 1 && scales->size() != counts->size())) {
    return std::nullopt;
  }
  std::vector<double> bias;
  for (std::size_t i = 0; i < counts->size(); ++i) {
    bias.push_back(static_cast<double>((*counts)[i]) * (*scales)[scales->size() == 1 ? 0 : i]);
  }
  return bias;
}

class ConvReader {
 public:
  explicit ConvReader(const Matcher& matcher) : matcher_(matcher), subgraph_(matcher.subgraph()) {}

  std::optional<QuantizedConv> read(ir::OperationId at) {
    const ir::Operation& operation = subgraph_.operation(at);
    if (operation.body || !computes_with_bytes(subgraph_, operation)) return std::nullopt;
    const auto x = dequantized_from(matcher_, operation.input(0));
    auto weights = quantized_weights(matcher_, operation.input(1));
    if (!x || x->quantization.has_sign) return std::nullopt;
    auto split = weights ? std::nullopt : split_weights(matcher_, operation.input(1));
    if (split) weights = QuantizedWeights{{}, split->scales};
    if (!weights) return std::nullopt;
    const auto bias = read_bias(matcher_, operation.input(2), weights->scales.size());
    if (!bias || bias->size() != weights->scales.size()) return std::nullopt;
    conv_ = QuantizedConv{.x = *x, .weights = *weights, .split = std::move(split), .bias = *bias};
    conv_.output = operation.output(0);
    conv_.last = at;
    read_residual();
    read_activation();
    read_result();
    return conv_;
  }

 private:
  void advance(ir::OperationId at) {
    conv_.last = at;
    conv_.output = subgraph_.operation(at).output(0);
  }

  /// Looks through QuantizeLinear and DequantizeLinear of signed bytes, a pair that rounds and
  /// clips: `clip` receives the quantization. The convolution clips, but does not round.
  ir::OperandId behind_rounding(ir::OperandId id, std::optional<Quantization>* clip) const {
    ir::OperationId at;
    const auto rounded = quantized_to(matcher_, id, &at);
    if (!rounded || !rounded->quantization.has_both_signs() || conv_.split) return id;
    const ir::Operation* back = matcher_.only_reader(rounded->bytes, &at);
    const bool is_back = back != nullptr && back->is("DequantizeLinear") &&
                         quantization_of(subgraph_, *back) == rounded->quantization;
    if (is_back) *clip = rounded->quantization;
    return is_back ? back->output(0) : id;
  }

  void read_residual() {
    std::optional<Quantization> clip;
    const ir::OperandId own = behind_rounding(conv_.output, &clip);
    ir::OperationId at;
    const ir::Operation* add = matcher_.only_reader(own, &at);
    if (add == nullptr || !add->is("Add") || add->body) return;
    const ir::OperandId other = Matcher::other_input(*add, own);
    const ir::Type& type = type_of(subgraph_, own);
    if (!other.is_valid() || other == own || subgraph_.is_constant(other) ||
        !type_of(subgraph_, other).is_tensor() || !type.shape() ||
        !type_of(subgraph_, other).shape() || *type_of(subgraph_, other).shape() != *type.shape() ||
        type_of(subgraph_, other).element() != ElementType::kF32) {
      return;
    }
    const auto bytes = dequantized_from(matcher_, other);
    const bool is_bytes = bytes && !bytes->quantization.has_sign;
    conv_.residual = is_bytes ? bytes->bytes : other;
    if (is_bytes) conv_.residual_bytes = bytes->quantization;
    if (clip) {
      conv_.own_low = clip->low();
      conv_.own_high = clip->high();
    }
    advance(at);
  }

  void read_activation() {
    ir::OperationId at;
    const ir::Operation* next = matcher_.only_reader(conv_.output, &at);
    if (next == nullptr || next->body) return;
    if (next->is("Relu")) {
      conv_.low = 0;
      advance(at);
    } else if (next->is("Clip") && next->input(0) == conv_.output) {
      const auto low = scalar_value_or_absent(next->input(1));
      const auto high = scalar_value_or_absent(next->input(2));
      if (!low || !high || is_nan(*low) || is_nan(*high)) return;
      conv_.low = *low;
      conv_.high = *high;
      advance(at);
    }
  }

  static bool is_nan(const std::optional<double>& bound) { return bound && std::isnan(*bound); }

  /// Outer nullopt: the input is present but not constant. Inner nullopt: the input is absent,
  /// which means no bound.
  std::optional<std::optional<double>> scalar_value_or_absent(ir::OperandId id) const {
    if (!id.is_valid()) return std::make_optional(std::optional<double>());
    const auto value = scalar_value(subgraph_, id);
    return value ? std::make_optional(value) : std::nullopt;
  }

  void read_result() {
    ir::OperationId at;
    const auto result = quantized_to(matcher_, conv_.output, &at);
    if (!result || result->quantization.has_sign) return;
    conv_.result = result->quantization;
    advance(at);
  }

  const Matcher& matcher_;
  const ir::Subgraph& subgraph_;
  QuantizedConv conv_ = {};
};

ir::OperandId add_vector(ir::Subgraph& subgraph, const std::vector<float>& values) {
  return subgraph.add_constant(
      "", ir::make_f32_constant(values, {static_cast<std::int64_t>(values.size())}));
}

/// The fused operation; scales and biases are expressed in quantization steps of the result.
ir::Operation fused(ir::Subgraph& subgraph, const ir::Operation& source,
                    const QuantizedConv& conv) {
  const double step = conv.result ? conv.result->scale : 1.0;
  std::vector<float> scales;
  std::vector<float> biases;
  for (std::size_t m = 0; m < conv.bias.size(); ++m) {
    scales.push_back(static_cast<float>(conv.weights.scales[m] * conv.x.quantization.scale / step));
    biases.push_back(static_cast<float>(conv.bias[m] / step));
  }
  ir::Operation operation;
  operation.domain = "sluice";
  operation.kind = "QuantizedConv";
  operation.name = source.name;
  operation.attributes = source.attributes;
  operation.inputs = {conv.x.bytes, conv.weights.bytes, add_vector(subgraph, scales),
                      add_vector(subgraph, biases)};
  operation.outputs = {conv.output};
  const auto set = [&](const char* name, auto value) { operation.attributes.set(name, value); };
  set("x_zero_point", std::int64_t{conv.x.quantization.zero});
  if (conv.residual.is_valid()) {
    operation.inputs.push_back(conv.residual);
    const double scale = conv.residual_bytes ? conv.residual_bytes->scale : 1.0;
    set("residual_scale", static_cast<float>(scale / step));
  }
  if (conv.residual_bytes) set("residual_zero_point", std::int64_t{conv.residual_bytes->zero});
  if (conv.own_low) set("own_low", static_cast<float>(*conv.own_low / step));
  if (conv.own_high) set("own_high", static_cast<float>(*conv.own_high / step));
  if (conv.low) set("low", static_cast<float>(*conv.low / step));
  if (conv.high) set("high", static_cast<float>(*conv.high / step));
  if (conv.result) set("y_zero_point", std::int64_t{conv.result->zero});
  set("output_dtype",
      static_cast<std::int64_t>(conv.result ? ElementType::kU8 : ElementType::kF32));
  for (const auto& spec : ops::find_schema("sluice", "QuantizedConv")->attributes) {
    if (spec.default_value && !operation.attributes.contains(spec.name)) {
      operation.attributes.set(std::string(spec.name), *spec.default_value);
    }
  }
  return operation;
}

/// Whether the numbers of the fused operation are as large as those that they are made of: no
/// scale or bias overflowed, or lost digits.
bool fits_f32(const QuantizedConv& conv) {
  const double step = conv.result ? conv.result->scale : 1.0;
  const auto is_scale = [](double s) { return s == 0 || (s >= 0x1p-100 && s <= 0x1p100); };
  const auto scale_fits = [&](double scale) {
    return is_scale(std::abs(scale) * conv.x.quantization.scale / step);
  };
  const double residual = conv.residual_bytes ? conv.residual_bytes->scale : 1.0;
  return std::ranges::all_of(conv.weights.scales, scale_fits) && is_scale(residual / step) &&
         std::ranges::all_of(conv.bias, [&](double b) { return std::abs(b) / step <= 0x1p100; });
}

/// Inserts the convolution with the rest of split weights, in f32. It takes the residual of `conv`
/// and becomes its residual. False if no backend computes it.
bool compute_rest(const ir::Graph& graph, Rewriter& rewriter, const PassContext& context,
                  ir::OperationId at, QuantizedConv& conv) {
  ir::Subgraph& subgraph = rewriter.subgraph();
  QuantizedConv rest = conv;
  rest.weights.bytes = subgraph.add_constant("", conv.split->rest);
  rest.bias.assign(rest.bias.size(), 0.0);
  rest.low = rest.high = std::nullopt;
  rest.result = std::nullopt;
  rest.output = add_operand(subgraph, type_of(subgraph, subgraph.operation(at).output(0)));
  ir::Operation operation = fused(subgraph, subgraph.operation(at), rest);
  if (!context.is_accepted(graph, subgraph, operation)) return false;
  rewriter.insert(conv.last, std::move(operation));
  conv.weights.bytes = subgraph.add_constant("", conv.split->main);
  conv.residual = rest.output;
  conv.residual_bytes = std::nullopt;
  return true;
}

int fuse_conv(const ir::Graph& graph, Rewriter& rewriter, const PassContext& context,
              ir::OperationId at) {
  ir::Subgraph& subgraph = rewriter.subgraph();
  auto conv = ConvReader(rewriter.matcher()).read(at);
  if (!conv || !fits_f32(*conv)) return 0;
  if (conv->split && !compute_rest(graph, rewriter, context, at, *conv)) return 0;
  ir::Operation operation = fused(subgraph, subgraph.operation(at), *conv);
  if (!context.is_accepted(graph, subgraph, operation)) return 0;
  rewriter.replace(conv->last, std::move(operation));
  return 1;
}

// ---- products -----------------------------------------------------------------------------------

/// The matrix of a plain product with weights of i8 around 0 and a scale per column or one.
std::optional<ByteMatrix> read_matrix(const ir::Subgraph& subgraph, const ir::Operation& product,
                                      const ir::Operation& weights) {
  const ir::Constant* scale = subgraph.find_constant(weights.input(1));
  const auto scales = scale == nullptr ? std::nullopt : ir::float_values(*scale);
  const bool is_signed = type_of(subgraph, weights.input(0)).element() == ElementType::kI8;
  if (!is_plain_product(product) || !is_signed || !scales || !are_scales(*scales) ||
      !has_no_zero_point(subgraph, weights)) {
    return std::nullopt;
  }
  const bool is_flipped = product.attributes.get_or("transB", std::int64_t{0}) != 0;
  std::int64_t axis = weights.attributes.get_or("axis", std::int64_t{1});
  if (axis < 0) axis += 2;
  if (scales->size() != 1 && axis != (is_flipped ? 0 : 1)) return std::nullopt;
  return ByteMatrix{weights.input(0), *scales, is_flipped};
}

/// Puts `narrow` and maybe a sum with input 2 in the product's place.
void place_product(Rewriter& rewriter, ir::OperationId at, ir::Operation narrow) {
  ir::Subgraph& subgraph = rewriter.subgraph();
  const ir::Operation product = subgraph.operation(at);
  narrow.name = product.name;
  if (!product.input(2).is_valid()) {
    rewriter.replace(at, std::move(narrow));
    return;
  }
  const ir::OperandId sum = product.output(0);
  narrow.outputs = {add_operand(subgraph, type_of(subgraph, sum))};
  ir::Operation add = make_operation(subgraph, "Add", {narrow.output(0), product.input(2)}, sum);
  rewriter.insert(at, std::move(narrow));
  rewriter.replace(at, std::move(add));
}

/// `id` clipped to what the quantization can hold, by a Clip in front of `at`.
ir::OperandId clipped(Rewriter& rewriter, ir::OperationId at, ir::OperandId id,
                      const Quantization& quantization) {
  ir::Subgraph& subgraph = rewriter.subgraph();
  const auto number = [&](double value) {
    return subgraph.add_constant("", ir::make_f32_constant({static_cast<float>(value)}, {}));
  };
  const ir::OperandId low = number(quantization.low());
  const ir::OperandId high = number(quantization.high());
  const ir::OperandId result = add_operand(subgraph, type_of(subgraph, id));
  rewriter.insert(at, make_operation(subgraph, "Clip", {id, low, high}, result));
  return result;
}

/// The products of a subgraph with 8-bit weights.
///
/// They quantize the other factor row by row at run time, so an earlier quantization of that factor
/// becomes a Clip, unless its bytes hold one sign only. Weights that fit keep their bytes; others
/// become f32 and are marked.
class ProductNarrower {
 public:
  ProductNarrower(const ir::Graph& graph, Rewriter& rewriter, const PassContext& context)
      : graph_(graph), rewriter_(rewriter), subgraph_(rewriter.subgraph()), context_(context) {}

  int narrow(ir::OperationId at) {
    const Matcher& matcher = rewriter_.matcher();
    const ir::Operation& product = subgraph_.operation(at);
    const ir::Operation* weights = matcher.find(product.input(1), "DequantizeLinear");
    if (weights == nullptr || product.body || !has_byte_matrix(*weights)) return 0;
    const auto x = dequantized_from(matcher, product.input(0));
    if (!x) return 0;
    // Bytes that the graph receives as an input are exact and must be multiplied unchanged.
    const ir::Operation* source = matcher.find(x->bytes, "QuantizeLinear");
    if (source == nullptr) return 0;
    const auto matrix = read_matrix(subgraph_, product, *weights);
    const bool only_rounds =
        x->quantization.has_both_signs() && quantization_of(subgraph_, *source) == x->quantization;
    const ir::OperandId factor =
        only_rounds ? without_rounding(at, *x, source->input(0)) : product.input(0);
    const ir::OperandId result = subgraph_.operation(at).output(0);
    if (matrix) {
      auto narrow = make_byte_product(graph_, subgraph_, context_, factor, *matrix, result);
      if (narrow) {
        place_product(rewriter_, at, std::move(*narrow));
        return 1;
      }
    }
    ir::Operation marked = subgraph_.operation(at);
    marked.inputs[0] = factor;
    marked.attributes.set("sluice_weights", "int8");
    rewriter_.replace(at, std::move(marked));
    return 1;
  }

 private:
  bool has_byte_matrix(const ir::Operation& weights) const {
    const ir::Constant* bytes = subgraph_.find_constant(weights.input(0));
    const ir::Constant* scale = subgraph_.find_constant(weights.input(1));
    const auto scales = scale == nullptr ? std::nullopt : ir::float_values(*scale);
    return bytes != nullptr && is_byte(bytes->type.element()) && bytes->type.shape()->size() == 2 &&
           scales && are_scales(*scales);
  }

  /// Products that share a factor share the Clip, which stands before the first of them.
  ir::OperandId without_rounding(ir::OperationId at, const Quantized& x, ir::OperandId floats) {
    const auto [it, is_new] = clipped_.emplace(x.bytes, ir::OperandId());
    if (is_new) it->second = clipped(rewriter_, at, floats, x.quantization);
    return it->second;
  }

  const ir::Graph& graph_;
  Rewriter& rewriter_;
  ir::Subgraph& subgraph_;
  const PassContext& context_;
  std::map<ir::OperandId, ir::OperandId> clipped_;  ///< by the bytes that stand for it
};

template <typename Rewrite>
int for_each(ir::Subgraph& subgraph, std::string_view kind, const Rewrite& rewrite) {
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  int rewrites = 0;
  for (const ir::OperationId at : order) {
    if (subgraph.operation(at).is(kind)) rewrites += rewrite(at);
  }
  return rewrites;
}

int run(ir::Graph& graph, ir::SubgraphId id, const PassContext& context) {
  ir::Subgraph& subgraph = graph.subgraph(id);
  int rewrites = 0;
  {
    const Matcher matcher(subgraph);
    rewrites += for_each(subgraph, "QuantizeLinear",
                         [&](auto at) { return drop_sign(subgraph, matcher, at); });
  }
  Rewriter rewriter(subgraph);
  ProductNarrower products(graph, rewriter, context);
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  for (const ir::OperationId at : order) {
    const ir::Operation& operation = subgraph.operation(at);
    if (operation.is("MatMul") || operation.is("Gemm")) rewrites += products.narrow(at);
  }
  rewrites += for_each(subgraph, "MaxPool", [&](auto at) { return pool_bytes(rewriter, at); });
  rewrites += for_each(subgraph, "QuantizeLinear",
                       [&](auto at) { return tabulate_bytes(graph, rewriter, context, at); });
  rewriter.sweep();
  return rewrites + for_each(subgraph, "Conv", [&](auto at) {
           const int fused = fuse_conv(graph, rewriter, context, at);
           if (fused > 0) rewriter.sweep();
           return fused;
         });
}

}  // namespace

Result<int> fuse_quantized(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) -> Result<int> { return run(graph, id, context); });
}

}  // namespace sluice::passes
