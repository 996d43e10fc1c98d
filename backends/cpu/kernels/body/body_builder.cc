#include "kernels/body/body_builder.h"

#include <algorithm>
#include <cstddef>

namespace sluice::cpu {
namespace {

constexpr int kUnused = -1;

/// Temporaries that hold no value.
class FreeTemps {
 public:
  int take() {
    for (int i = 0; i < kBodyMaxTemps; ++i) {
      if (taken_[i]) continue;
      taken_[i] = true;
      high_water_ = std::max(high_water_, i + 1);
      return kBodyFirstTemp + i;
    }
    return kUnused;
  }
  void give_back(int slot) {
    if (slot >= kBodyFirstTemp && slot < kBodyOut) taken_[slot - kBodyFirstTemp] = false;
  }
  int high_water() const { return high_water_; }

 private:
  bool taken_[kBodyMaxTemps] = {};
  int high_water_ = 0;
};

}  // namespace

int BodyBuilder::add_step(BodyOp op, int a, int b, float alpha, float beta) {
  steps_.push_back({op, a, is_binary(op) ? b : a, alpha, beta, a});
  return first_step() + static_cast<int>(steps_.size()) - 1;
}

/// One pass over a tile instead of two.
BodyBuilder::Steps BodyBuilder::joined_steps(int result) const {
  Steps steps = steps_;
  std::vector<int> uses(static_cast<std::size_t>(first_step()) + steps.size());
  if (result >= 0 && static_cast<std::size_t>(result) < uses.size()) {
    ++uses[static_cast<std::size_t>(result)];
  }
  for (const Step& step : steps) {
    ++uses[static_cast<std::size_t>(step.a)];
    if (is_binary(step.op)) ++uses[static_cast<std::size_t>(step.b)];
  }
  const auto is_own_product = [&](int value) {
    return value >= first_step() && uses[static_cast<std::size_t>(value)] == 1 &&
           steps[static_cast<std::size_t>(value - first_step())].op == BodyOp::kMul;
  };
  for (Step& step : steps) {
    if (step.op != BodyOp::kAdd) continue;
    const bool is_left = is_own_product(step.a);
    if (!is_left && !is_own_product(step.b)) continue;
    const Step& product =
        steps[static_cast<std::size_t>((is_left ? step.a : step.b) - first_step())];
    step = {BodyOp::kMulAdd, product.a, product.b, 0, 0, is_left ? step.b : step.a};
  }
  return steps;
}

std::vector<int> BodyBuilder::last_uses(const Steps& steps, int result) const {
  const int value_count = first_step() + static_cast<int>(steps.size());
  std::vector<int> last(static_cast<std::size_t>(value_count), kUnused);
  if (result >= 0 && result < value_count) last[static_cast<std::size_t>(result)] = value_count;
  for (int i = static_cast<int>(steps.size()) - 1; i >= 0; --i) {
    if (last[static_cast<std::size_t>(first_step() + i)] == kUnused) continue;
    const Step& step = steps[static_cast<std::size_t>(i)];
    for (const int operand : {step.a, step.b, step.c}) {
      int& use = last[static_cast<std::size_t>(operand)];
      use = std::max(use, i);
    }
  }
  return last;
}

bool BodyBuilder::finish(int result, Body* body) const {
  if (input_count_ > kBodyMaxInputs || constants_.size() > kBodyMaxConstants) return false;
  const Steps steps = joined_steps(result);
  const std::vector<int> last = last_uses(steps, result);
  std::vector<int> slot(last.size(), kUnused);
  for (int i = 0; i < input_count_; ++i) slot[static_cast<std::size_t>(i)] = i;

  *body = Body{};
  body->input_count = input_count_;
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    slot[static_cast<std::size_t>(input_count_) + i] = kBodyFirstConstant + static_cast<int>(i);
    body->constants[i] = constants_[i];
  }
  FreeTemps temps;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const Step& step = steps[static_cast<std::size_t>(i)];
    const int value = first_step() + i;
    if (last[static_cast<std::size_t>(value)] == kUnused) continue;
    if (body->step_count == kBodyMaxSteps) return false;
    const int a = slot[static_cast<std::size_t>(step.a)];
    const int b = slot[static_cast<std::size_t>(step.b)];
    const int c = slot[static_cast<std::size_t>(step.c)];
    for (const int operand : {step.a, step.b, step.c}) {
      if (last[static_cast<std::size_t>(operand)] == i)
        temps.give_back(slot[static_cast<std::size_t>(operand)]);
    }
    const int target = value == result ? kBodyOut : temps.take();
    if (target == kUnused) return false;
    slot[static_cast<std::size_t>(value)] = target;
    body->steps[body->step_count++] = {step.op,
                                       static_cast<std::uint8_t>(a),
                                       static_cast<std::uint8_t>(b),
                                       static_cast<std::uint8_t>(target),
                                       step.alpha,
                                       step.beta,
                                       static_cast<std::uint8_t>(c)};
  }
  body->temp_count = temps.high_water();
  return body->step_count > 0;
}

}  // namespace sluice::cpu
