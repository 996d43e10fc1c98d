#pragma once

#include <utility>
#include <vector>

#include "kernels/body/body.h"

namespace sluice::cpu {

/// Writes a Body step by step in terms of values, and gives the values temporaries at the end.
///
///   BodyBuilder b(2, {0.5F});       // inputs are the values 0 and 1, the constant is value 2
///   int sum = b.add_step(BodyOp::kAdd, 0, 1);
///   b.add_step(BodyOp::kRelu, sum);
///   Body body;
///   if (!b.finish(sum, &body)) ...                     // too long for one body
class BodyBuilder {
 public:
  explicit BodyBuilder(int input_count, std::vector<float> constants = {})
      : input_count_(input_count), constants_(std::move(constants)) {}

  /// The number of the new value. `b` is ignored for one-operand steps.
  int add_step(BodyOp op, int a, int b = 0, float alpha = 0, float beta = 0);

  /// False when inputs, constants, steps or values alive at once pass the limits of a Body.
  /// Steps that `result` does not need are left out, and a sum takes over the product that nothing
  /// else reads.
  bool finish(int result, Body* body) const;

  /// The number of the first step's value: those below are inputs and constants.
  int first_step() const { return input_count_ + static_cast<int>(constants_.size()); }

 private:
  struct Step {
    BodyOp op;
    int a;
    int b;
    float alpha;
    float beta;
    int c;  ///< of kMulAdd; else as `a`
  };
  using Steps = std::vector<Step>;

  Steps joined_steps(int result) const;
  std::vector<int> last_uses(const Steps& steps, int result) const;

  int input_count_;
  std::vector<float> constants_;
  Steps steps_;
};

}  // namespace sluice::cpu
