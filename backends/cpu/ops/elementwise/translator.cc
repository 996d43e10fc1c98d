#include "ops/elementwise/translator.h"

#include <cmath>
#include <utility>

#include "kernels/body/body_builder.h"
#include "ops/elementwise/types.h"

namespace sluice::cpu {

using plugin::unimplemented;

namespace {

/// Marks a step that stands for the constant in its `alpha`.
constexpr BodyOp kLiteral = BodyOp::kCount;

}  // namespace

Translator::Translator(std::vector<ChainSource> sources) : sources_(std::move(sources)) {
  for (const ChainSource& source : sources_) types_.push_back(source.tensor->element_type);
}

int Translator::emit(BodyOp op, int a, int b, float alpha, float beta) {
  steps_.push_back({op, a, b, alpha, beta});
  types_.push_back(plugin::kF32);
  return static_cast<int>(types_.size()) - 1;
}

int Translator::number(float value) { return emit(kLiteral, kNoRegister, kNoRegister, value); }

std::optional<float> Translator::constant(int reg) const {
  if (!is_source(reg)) return std::nullopt;
  const ChainSource& source = sources_[static_cast<std::size_t>(reg)];
  if (source.from != ChainSource::From::kConstant) return std::nullopt;
  const sluice_tensor& t = *source.tensor;
  const auto storage = storage_of(t.element_type);
  if (!storage || t.data == nullptr || plugin::num_elements(t) != 1) return std::nullopt;
  float value = 0;
  portable::to_floats(*storage, t.data, 1, &value);
  return value;
}

int Translator::gated_by(int x, int gate) {
  if (is_source(gate) || gate < 0) return kNoRegister;
  const Step& step = steps_[static_cast<std::size_t>(gate) - sources_.size()];
  if (step.a != x) return kNoRegister;
  if (step.op == BodyOp::kSigmoid) return emit(BodyOp::kSilu, x, kNoRegister, 1);
  constexpr float kSixth = 1.0F / 6.0F;
  const bool is_swish =
      step.op == BodyOp::kHardSigmoid && step.beta == 0.5F && std::abs(step.alpha - kSixth) < 1e-6F;
  return is_swish ? emit(BodyOp::kHardSwish, x) : kNoRegister;
}

std::vector<bool> Translator::used_sources() const {
  std::vector<bool> used(sources_.size(), false);
  for (const Step& step : steps_) {
    for (const int reg : {step.a, step.b}) {
      if (is_source(reg)) used[static_cast<std::size_t>(reg)] = true;
    }
  }
  // The operation's own result keeps its place.
  if (!used.empty() && sources_[0].from == ChainSource::From::kResult) used[0] = true;
  return used;
}

/// A source that no step reads gets no number: a Body has few inputs. Constants are numbered apart.
std::vector<int> Translator::number_inputs(Chain* chain) const {
  const std::vector<bool> used = used_sources();
  std::vector<int> numbers(types_.size(), kNoRegister);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!used[i] || constant(static_cast<int>(i))) continue;
    numbers[i] = static_cast<int>(chain->sources.size());
    chain->sources.push_back(sources_[i]);
  }
  return numbers;
}

std::vector<float> Translator::number_constants(int first, std::vector<int>& numbers) const {
  const std::vector<bool> used = used_sources();
  std::vector<float> constants;
  const auto add = [&](std::size_t reg, float value) {
    numbers[reg] = first + static_cast<int>(constants.size());
    constants.push_back(value);
  };
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto value = constant(static_cast<int>(i));
    if (used[i] && value) add(i, *value);
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].op == kLiteral) add(sources_.size() + i, steps_[i].alpha);
  }
  return constants;
}

/// Whether the body can leave the step out: copies, and the rounding of a result to 16 bits, since
/// the store of the result rounds it.
bool Translator::changes_nothing(const Step& step, bool is_result, sluice_element_type type) {
  if (step.op == BodyOp::kCopy) return true;
  return is_result && ((step.op == BodyOp::kRoundToF16 && type == plugin::kF16) ||
                       (step.op == BodyOp::kRoundToBf16 && type == plugin::kBf16));
}

/// Registers get their numbers in the Body: inputs, then constants, then steps in their order. A
/// step reads only registers before it, so all its operands have numbers.
Status Translator::finish(int result, Chain* chain) const {
  chain->sources.clear();
  chain->result_type = type(result);
  std::vector<int> numbers = number_inputs(chain);
  for (const ChainSource& source : chain->sources) {
    if (!storage_of(source.tensor->element_type)) {
      return unimplemented("a fused operand is not computed as floats");
    }
  }
  const auto num_inputs = static_cast<int>(chain->sources.size());
  BodyBuilder builder(num_inputs, number_constants(num_inputs, numbers));
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.op == kLiteral) continue;
    const int reg = static_cast<int>(sources_.size() + i);
    const int from = numbers[static_cast<std::size_t>(s.a)];
    // A body must have a step to its result: what it reads is none.
    const bool is_of_step = from >= builder.first_step();
    if ((reg != result || is_of_step) && changes_nothing(s, reg == result, chain->result_type)) {
      numbers[static_cast<std::size_t>(reg)] = from;
      continue;
    }
    const int b = s.b == kNoRegister ? 0 : numbers[static_cast<std::size_t>(s.b)];
    numbers[static_cast<std::size_t>(reg)] = builder.add_step(s.op, from, b, s.alpha, s.beta);
  }
  if (!builder.finish(numbers[static_cast<std::size_t>(result)], &chain->body)) {
    return unimplemented("the fused body is too long for one pass");
  }
  return plugin::ok();
}

}  // namespace sluice::cpu
