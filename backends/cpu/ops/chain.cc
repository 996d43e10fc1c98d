#include "ops/chain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/body_builder.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {
namespace {

using plugin::Attributes;
using plugin::unimplemented;

constexpr int kNone = -1;

/// An element-wise operator as translation sees it: an operation or a step of a body.
struct Node {
  std::string_view kind;
  Attributes attributes;
  std::vector<int> inputs;  ///< registers; kNone where absent
};

/// Collects steps over registers: the sources first, then results.
class Translator {
 public:
  explicit Translator(std::vector<ChainSource> sources) : sources_(std::move(sources)) {}

  int emit(BodyOp op, int a, int b = kNone, float alpha = 0, float beta = 0) {
    steps_.push_back({op, a, b, alpha, beta});
    return static_cast<int>(sources_.size() + steps_.size()) - 1;
  }

  /// Emits x * gate as one step where `gate` is a sigmoid of x; else kNone.
  int gated_by(int x, int gate);

  /// The value of a register that holds one constant number.
  std::optional<float> constant(int reg) const {
    if (reg < 0 || static_cast<std::size_t>(reg) >= sources_.size()) return std::nullopt;
    const ChainSource& source = sources_[static_cast<std::size_t>(reg)];
    if (source.from != ChainSource::From::kConstant) return std::nullopt;
    const sluice_tensor& t = *source.tensor;
    if (t.data == nullptr || plugin::num_elements(t) != 1) return std::nullopt;
    switch (t.element_type) {
      case plugin::kF32: return *static_cast<const float*>(t.data);
      case plugin::kI32: return static_cast<float>(*static_cast<const std::int32_t*>(t.data));
      case plugin::kI64: return static_cast<float>(*static_cast<const std::int64_t*>(t.data));
      default: return std::nullopt;
    }
  }

  Status finish(int result, Chain* chain) const;

 private:
  struct Step {
    BodyOp op;
    int a;
    int b;
    float alpha;
    float beta;
  };

  std::vector<bool> used_sources() const;

  std::vector<ChainSource> sources_;
  std::vector<Step> steps_;
};

int Translator::gated_by(int x, int gate) {
  if (gate < static_cast<int>(sources_.size())) return kNone;
  const Step& step = steps_[static_cast<std::size_t>(gate) - sources_.size()];
  if (step.a != x) return kNone;
  if (step.op == BodyOp::kSigmoid) return emit(BodyOp::kSilu, x, kNone, 1);
  constexpr float kSixth = 1.0F / 6.0F;
  const bool is_swish =
      step.op == BodyOp::kHardSigmoid && step.beta == 0.5F && std::abs(step.alpha - kSixth) < 1e-6F;
  return is_swish ? emit(BodyOp::kHardSwish, x) : kNone;
}

std::vector<bool> Translator::used_sources() const {
  std::vector<bool> used(sources_.size(), false);
  for (const Step& step : steps_) {
    for (const int reg : {step.a, step.b}) {
      if (reg >= 0 && static_cast<std::size_t>(reg) < used.size()) {
        used[static_cast<std::size_t>(reg)] = true;
      }
    }
  }
  // The operation's own result keeps its place.
  if (!used.empty() && sources_[0].from == ChainSource::From::kResult) used[0] = true;
  return used;
}

Status Translator::finish(int result, Chain* chain) const {
  const std::vector<bool> used = used_sources();
  std::vector<int> number(sources_.size() + steps_.size(), kNone);
  chain->sources.clear();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!used[i]) continue;
    if (sources_[i].tensor->element_type != plugin::kF32) {
      return unimplemented("a fused operand is not f32");
    }
    number[i] = static_cast<int>(chain->sources.size());
    chain->sources.push_back(sources_[i]);
  }
  BodyBuilder builder(static_cast<int>(chain->sources.size()));
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    const int b = s.b == kNone ? 0 : number[static_cast<std::size_t>(s.b)];
    number[sources_.size() + i] =
        builder.add_step(s.op, number[static_cast<std::size_t>(s.a)], b, s.alpha, s.beta);
  }
  if (!builder.finish(number[static_cast<std::size_t>(result)], &chain->body)) {
    return unimplemented("the fused body is too long for one pass");
  }
  return plugin::ok();
}

// ---- operators: each gives the register of its result, or kNone where it has no fast form
// ---------

using Translate = int (*)(Translator&, const Node&);

template <BodyOp kOp>
int unary(Translator& t, const Node& n) {
  return t.emit(kOp, n.inputs[0]);
}

template <BodyOp kOp>
int binary(Translator& t, const Node& n) {
  return n.inputs.size() == 2 ? t.emit(kOp, n.inputs[0], n.inputs[1]) : kNone;
}

/// x * sigmoid(x) and x * hard_sigmoid(x) are one function each.
int mul(Translator& t, const Node& n) {
  if (n.inputs.size() != 2) return kNone;
  for (const int i : {0, 1}) {
    const int gated = t.gated_by(n.inputs[static_cast<std::size_t>(i)],
                                 n.inputs[static_cast<std::size_t>(1 - i)]);
    if (gated != kNone) return gated;
  }
  return t.emit(BodyOp::kMul, n.inputs[0], n.inputs[1]);
}

template <BodyOp kOp>
int variadic(Translator& t, const Node& n) {
  int result = n.inputs[0];
  for (std::size_t i = 1; i < n.inputs.size(); ++i) result = t.emit(kOp, result, n.inputs[i]);
  return n.inputs.size() == 1 ? t.emit(BodyOp::kCopy, result) : result;
}

int pow(Translator& t, const Node& n) {
  const int x = n.inputs[0];
  const std::optional<float> exponent = t.constant(n.inputs[1]);
  if (exponent == 2.0F) return t.emit(BodyOp::kSquare, x);
  if (exponent == 3.0F) return t.emit(BodyOp::kMul, t.emit(BodyOp::kSquare, x), x);
  if (exponent == 0.5F) return t.emit(BodyOp::kSqrt, x);
  if (exponent == 1.0F) return t.emit(BodyOp::kCopy, x);
  if (exponent == -1.0F) return t.emit(BodyOp::kReciprocal, x);
  return t.emit(BodyOp::kPow, x, n.inputs[1]);
}

int clip(Translator& t, const Node& n) {
  float low = n.attributes.get_float("min", -std::numeric_limits<float>::infinity());
  float high = n.attributes.get_float("max", std::numeric_limits<float>::infinity());
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == kNone) continue;
    const std::optional<float> bound = t.constant(n.inputs[i]);
    if (!bound) return kNone;
    (i == 1 ? low : high) = *bound;
  }
  return t.emit(BodyOp::kClip, n.inputs[0], kNone, low, high);
}

int gelu(Translator& t, const Node& n) {
  const bool tanh = n.attributes.get_text("approximate", "none") == "tanh";
  return t.emit(tanh ? BodyOp::kGeluTanh : BodyOp::kGelu, n.inputs[0]);
}

int leaky_relu(Translator& t, const Node& n) {
  const float alpha = n.attributes.get_float("alpha", 0.01F);
  return t.emit(BodyOp::kLeakyRelu, n.inputs[0], kNone, alpha);
}

int elu(Translator& t, const Node& n) {
  return t.emit(BodyOp::kElu, n.inputs[0], kNone, n.attributes.get_float("alpha", 1));
}

int hard_sigmoid(Translator& t, const Node& n) {
  return t.emit(BodyOp::kHardSigmoid, n.inputs[0], kNone, n.attributes.get_float("alpha", 0.2F),
                n.attributes.get_float("beta", 0.5F));
}

int swish(Translator& t, const Node& n) {
  return t.emit(BodyOp::kSilu, n.inputs[0], kNone, n.attributes.get_float("alpha", 1));
}

int mish(Translator& t, const Node& n) {
  const int gate = t.emit(BodyOp::kTanh, t.emit(BodyOp::kSoftplus, n.inputs[0]));
  return t.emit(BodyOp::kMul, n.inputs[0], gate);
}

const std::map<std::string_view, Translate>& operators() {
  static const std::map<std::string_view, Translate> kOperators = {
      {"Abs", unary<BodyOp::kAbs>},
      {"Add", binary<BodyOp::kAdd>},
      {"Ceil", unary<BodyOp::kCeil>},
      {"Clip", clip},
      {"Div", binary<BodyOp::kDiv>},
      {"Elu", elu},
      {"Erf", unary<BodyOp::kErf>},
      {"Exp", unary<BodyOp::kExp>},
      {"Floor", unary<BodyOp::kFloor>},
      {"Gelu", gelu},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", unary<BodyOp::kHardSwish>},
      {"Identity", unary<BodyOp::kCopy>},
      {"LeakyRelu", leaky_relu},
      {"Log", unary<BodyOp::kLog>},
      {"Max", variadic<BodyOp::kMax>},
      {"Min", variadic<BodyOp::kMin>},
      {"Mish", mish},
      {"Mul", mul},
      {"Neg", unary<BodyOp::kNeg>},
      {"PRelu", binary<BodyOp::kPrelu>},
      {"Pow", pow},
      {"Reciprocal", unary<BodyOp::kReciprocal>},
      {"Relu", unary<BodyOp::kRelu>},
      {"Round", unary<BodyOp::kRound>},
      {"Sigmoid", unary<BodyOp::kSigmoid>},
      {"Softplus", unary<BodyOp::kSoftplus>},
      {"Sqrt", unary<BodyOp::kSqrt>},
      {"Sub", binary<BodyOp::kSub>},
      {"Sum", variadic<BodyOp::kAdd>},
      {"Swish", swish},
      {"Tanh", unary<BodyOp::kTanh>},
  };
  return kOperators;
}

/// Translates one node; its result's register goes to `result`.
Status translate_node(Translator& translator, const Node& node, int* result) {
  const auto found = operators().find(node.kind);
  *result = kNone;
  if (found != operators().end() && !node.inputs.empty() && node.inputs[0] != kNone) {
    *result = found->second(translator, node);
  }
  if (*result != kNone) return plugin::ok();
  return unimplemented("no fast form of element-wise " + std::string(node.kind));
}

ChainSource operand_source(const sluice_operand& operand, int run_input) {
  const bool known = operand.is_constant != 0 && operand.tensor.data != nullptr;
  return {known ? ChainSource::From::kConstant : ChainSource::From::kRunInput, run_input,
          &operand.tensor};
}

}  // namespace

Status translate_body(const sluice_op& op, Chain* chain) {
  const sluice_body& body = *op.body;
  std::vector<ChainSource> sources;
  if (body.num_inputs > op.num_body_inputs) {
    sources.push_back({ChainSource::From::kResult, 0, &op.outputs[0].tensor});
  }
  for (int i = 0; i < op.num_body_inputs; ++i) {
    sources.push_back(operand_source(op.body_inputs[i], op.num_inputs + i));
  }
  for (int i = 0; i < body.num_constants; ++i) {
    sources.push_back({ChainSource::From::kConstant, 0, &body.constants[i]});
  }
  Translator translator(sources);
  std::vector<int> registers(sources.size());
  for (std::size_t i = 0; i < registers.size(); ++i) registers[i] = static_cast<int>(i);
  for (int i = 0; i < body.num_steps; ++i) {
    const sluice_body_step& step = body.steps[i];
    Node node{step.kind, Attributes(step), {}};
    for (int j = 0; j < step.num_inputs; ++j) {
      const int reg = step.inputs[j];
      node.inputs.push_back(reg < 0 ? kNone : registers[static_cast<std::size_t>(reg)]);
    }
    int result = kNone;
    if (Status status = translate_node(translator, node, &result); !status.is_ok()) return status;
    registers.push_back(result);
  }
  return translator.finish(registers[static_cast<std::size_t>(body.result)], chain);
}

Status translate_operator(const sluice_op& op, Chain* chain) {
  std::vector<ChainSource> sources;
  Node node{op.kind, Attributes(op), {}};
  for (int i = 0; i < op.num_inputs; ++i) {
    sources.push_back(operand_source(op.inputs[i], i));
    node.inputs.push_back(plugin::is_absent(op.inputs[i].tensor) ? kNone : i);
  }
  Translator translator(sources);
  int result = kNone;
  if (Status status = translate_node(translator, node, &result); !status.is_ok()) return status;
  return translator.finish(result, chain);
}

std::vector<const char*> elementwise_kinds() {
  std::vector<const char*> kinds;
  for (const auto& [kind, translate] : operators()) kinds.push_back(kind.data());
  return kinds;
}

}  // namespace sluice::cpu
