// Loop: runs its body until the condition is false or the trip count is reached. Body inputs are
// (iteration number, condition, carried values..., captures...), outputs are (condition, carried
// values..., scan outputs...).
#include <limits>
#include <utility>

#include "exec/steps/iteration.h"
#include "ops/control/structure.h"

namespace sluice::exec {
namespace {

/// The iteration number or the condition, as a tensor that the body reads.
class Counter {
 public:
  Status prepare(Frame& body, std::size_t input, ir::ElementType element) {
    SLUICE_TRY(memory_.reserve(sizeof(std::int64_t)));
    const auto& operand = body.code.subgraph->operand(body.code.subgraph->inputs[input]);
    const ir::Shape* declared = operand.type.is_tensor() ? operand.type.shape() : nullptr;
    const bool is_vector = declared != nullptr && declared->size() == 1;
    view_ = {memory_.data(), *ir::storage_bytes(element, 1), element, {}};
    if (is_vector) view_.dims = {1};
    return ok_status();
  }
  Status pass(Frame& body, std::size_t input, std::int64_t value) {
    *static_cast<std::int64_t*>(memory_.data()) = value;  // little-endian: a bool is the low byte
    return pass_tensor(body, input, view_);
  }

 private:
  AlignedBuffer memory_;
  terms::TensorView view_;
};

class Loop {
 public:
  explicit Loop(StepCall& call)
      : call_(call),
        body_(call.callee("body")),
        operands_(ops::loop_operands(call.graph(), call.operation())) {}

  Status run() {
    SLUICE_TRY(start());
    const std::int64_t most = call_.max_loop_iterations();
    std::int64_t iteration = 0;
    for (; condition_ && iteration < trip_count_; ++iteration) {
      has_run_ = true;
      if (iteration >= most) {
        return make_error(Code::kResourceExhausted,
                          "the loop did not end within {} iterations; raise the limit "
                          "(max_loop_iterations) if it would",
                          iteration);
      }
      SLUICE_TRY(iterate(iteration).with_context(fmt::format("iteration {}", iteration)));
    }
    return finish();
  }

 private:
  Status start() {
    if (call_.has_input(0)) {
      trip_count_ = SLUICE_TRY(call_.integer(0));
      is_counted_ = true;
    }
    if (call_.has_input(1)) condition_ = SLUICE_TRY(call_.integer(1)) != 0;
    SLUICE_TRY(number_.prepare(body_, 0, ir::ElementType::kI64));
    SLUICE_TRY(go_on_.prepare(body_, 1, ir::ElementType::kBool));
    carried_.resize(operands_.num_carried);
    for (std::size_t i = 0; i < operands_.num_carried; ++i) {
      SLUICE_TRY(carried_[i].start(call_, 2 + i));
      body_.outputs[1 + i].is_skipped = is_fixed(i);
    }
    for (std::size_t i = 0; i < operands_.num_scan_outputs; ++i) {
      scans_.emplace_back(is_counted_ ? trip_count_ : -1);
      body_.outputs[scan_output(i)].is_skipped = !is_read(i);
    }
    return ok_status();
  }

  /// Whether the body returns a carried tensor unchanged. Such a tensor is read in place for the
  /// whole loop and never copied.
  bool is_fixed(std::size_t i) const {
    return carried_[i].is_tensor() && hands_through(body_.code, 2 + i, 1 + i);
  }
  std::size_t scan_output(std::size_t i) const { return 1 + operands_.num_carried + i; }
  bool is_read(std::size_t i) const { return call_.has_output(operands_.num_carried + i); }

  /// Captures are passed in every iteration, because a frame drops its sequences and optionals at
  /// the end of each run.
  Status iterate(std::int64_t iteration) {
    SLUICE_TRY(number_.pass(body_, 0, iteration));
    SLUICE_TRY(go_on_.pass(body_, 1, 1));
    for (std::size_t i = 0; i < carried_.size(); ++i) SLUICE_TRY(carried_[i].pass(body_, 2 + i));
    SLUICE_TRY(call_.pass_captures(body_));
    for (std::size_t i = 0; i < scans_.size(); ++i) {
      if (is_read(i)) SLUICE_TRY(scans_[i].bind(body_.outputs[scan_output(i)]));
    }
    SLUICE_TRY(call_.run(body_));
    SLUICE_TRY(read_condition());
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (!is_fixed(i)) carried_[i].take(body_, 1 + i);
    }
    for (std::size_t i = 0; i < scans_.size(); ++i) {
      if (!is_read(i)) continue;
      SLUICE_TRY(scans_[i]
                     .add(body_.outputs[scan_output(i)].view)
                     .with_context(fmt::format("scan output {}", i)));
    }
    return ok_status();
  }

  Status read_condition() {
    const terms::TensorView& view = body_.outputs[0].view;
    if (view.element != ir::ElementType::kBool || view.size_bytes != 1) {
      return StepCall::error("the body's condition must be one bool, not {}",
                             type_of(view).to_string());
    }
    condition_ = *static_cast<const std::uint8_t*>(view.data) != 0;
    return ok_status();
  }

  /// Types of what the body would have returned.
  std::vector<ir::Type> unrun_types() const {
    const ir::Subgraph& subgraph = *body_.code.subgraph;
    std::vector<ops::OperandFacts> own;
    for (std::size_t i = 0; i < 2; ++i) {
      own.push_back({subgraph.operand(subgraph.inputs[i]).type, std::nullopt, std::nullopt});
    }
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      own.push_back({call_.facts(2 + i).type, std::nullopt, std::nullopt});
    }
    return call_.types_without_run(body_, std::move(own));
  }

  /// `bound` is reset so that the next run of the loop does not write into memory given away here.
  Status finish() {
    for (std::size_t i = 0; i < carried_.size(); ++i) SLUICE_TRY(carried_[i].give(call_, i));
    std::vector<ir::Type> types(body_.outputs.size());
    if (!has_run_ && !scans_.empty()) types = unrun_types();
    for (std::size_t i = 0; i < scans_.size(); ++i) {
      FrameOutput& output = body_.outputs[scan_output(i)];
      output.bound = nullptr;
      if (!is_read(i)) continue;
      SLUICE_TRY(call_.give(operands_.num_carried + i, scans_[i].view(types[scan_output(i)]),
                            scans_[i].memory()));
    }
    return ok_status();
  }

  StepCall& call_;
  Frame& body_;
  ops::LoopOperands operands_;
  // Without a trip count the condition alone ends the loop, or max_loop_iterations.
  std::int64_t trip_count_ = std::numeric_limits<std::int64_t>::max();
  bool is_counted_ = false;
  bool condition_ = true;
  bool has_run_ = false;
  Counter number_;
  Counter go_on_;
  std::vector<Carried> carried_;
  std::vector<Stack> scans_;
};

}  // namespace

Status run_loop(StepCall& call) { return Loop(call).run(); }

}  // namespace sluice::exec
