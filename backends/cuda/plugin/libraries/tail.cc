#include "plugin/libraries/tail.h"

#include <deque>

#include "plugin/generate/generate.h"

namespace sluice::cuda {
namespace {

/// The body without its first steps, as an operation of its own. Borrows the operation.
class Tail {
 public:
  Tail(const sluice_op& op, int num_steps) : op_(op), num_gone_(num_steps) {
    const sluice_body& whole = *op.body;
    inputs_.push_back(op.outputs[0]);
    for (const sluice_operand& input : plugin::body_inputs_of(op)) inputs_.push_back(input);
    for (std::int32_t i = num_gone_; i < whole.num_steps; ++i) add_step(whole.steps[i]);
    body_ = whole;
    body_.num_steps = static_cast<std::int32_t>(steps_.size());
    body_.steps = steps_.data();
    body_.result = renumber(whole.result);
    tail_ = op;
    tail_.domain = "sluice";
    tail_.kind = "Elementwise";
    tail_.num_inputs = 0;
    tail_.inputs = nullptr;
    tail_.num_attributes = 0;
    tail_.attributes = nullptr;
    tail_.num_body_inputs = static_cast<std::int32_t>(inputs_.size());
    tail_.body_inputs = inputs_.data();
    tail_.body = &body_;
  }
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;
  ~Tail() = default;

  const sluice_op& op() const { return tail_; }

 private:
  /// The register of the same value: the output's is register 0.
  std::int32_t renumber(std::int32_t number) const {
    const std::int32_t first_result = op_.body->num_inputs + op_.body->num_constants;
    if (number < first_result) return number;
    if (number < first_result + num_gone_) return 0;
    return number - num_gone_;
  }

  void add_step(const sluice_body_step& step) {
    auto& registers = registers_.emplace_back(step.inputs, step.inputs + step.num_inputs);
    for (std::int32_t& number : registers) number = renumber(number);
    steps_.push_back(step);
    steps_.back().inputs = registers.data();
  }

  const sluice_op& op_;
  const std::int32_t num_gone_;
  std::vector<sluice_operand> inputs_;
  std::deque<std::vector<std::int32_t>> registers_;
  std::vector<sluice_body_step> steps_;
  sluice_body body_ = {};
  sluice_op tail_ = {};
};

}  // namespace

Status write_tail(const sluice_op& op, int num_steps, Source* source) {
  *source = {};
  if (op.body == nullptr) return plugin::ok();
  const Tail tail(op, num_steps);
  if (tail.op().body->num_steps == 0 && tail.op().body->result == 0) return plugin::ok();
  if (Status status = generate(tail.op(), source); !status.is_ok()) return status;
  for (int& operand : source->operands) {
    if (operand == 0) {
      operand = -1;  // output 0
    } else if (operand > 0) {
      operand += op.num_inputs - 1;
    }
  }
  return plugin::ok();
}

}  // namespace sluice::cuda
