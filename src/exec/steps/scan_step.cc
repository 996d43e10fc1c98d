// Scan: runs its body for each element of the scan inputs, and carries states from one to the next.
#include <cstring>
#include <utility>

#include "exec/steps/iteration.h"
#include "ops/control/structure.h"
#include "ops/inference.h"

namespace sluice::exec {
namespace {

class Scan {
 public:
  explicit Scan(StepCall& call)
      : call_(call),
        body_(call.callee("body")),
        operands_(ops::scan_operands(call.graph(), call.operation())) {}

  Status run() {
    SLUICE_TRY(call_.pass_captures(body_));
    return operands_.is_batched ? run_batch() : run_one();
  }

 private:
  std::size_t num_states() const { return operands_.num_states; }
  std::size_t num_inputs() const { return operands_.num_scan_inputs; }
  std::size_t num_outputs() const { return operands_.num_scan_outputs; }
  Result<terms::TensorView> state(std::size_t i) const {
    return call_.tensor(operands_.first_state + i);
  }
  Result<terms::TensorView> scanned(std::size_t i) const {
    return call_.tensor(operands_.first_state + num_states() + i);
  }

  std::int64_t attribute(std::string_view name, std::size_t index) const {
    const auto values = call_.ints_attribute(name);
    // Missing attributes and entries mean axis 0, forwards.
    return index < values.size() ? values[index] : 0;
  }
  bool is_backward(std::size_t input) const {
    return attribute(operands_.is_batched ? "directions" : "scan_input_directions", input) != 0;
  }

  /// Type of what the body returns as output `i` where it does not run.
  const ir::Type& unrun_type(std::size_t i) {
    // Inferred only when a scan of length 0 needs it.
    if (unrun_types_.empty()) unrun_types_ = call_.types_without_run(body_, body_inputs());
    return unrun_types_[i];
  }

  std::vector<ops::OperandFacts> body_inputs() const {
    std::vector<ops::OperandFacts> inputs;
    for (std::size_t i = 0; i < num_states() + num_inputs(); ++i) {
      ops::OperandFacts& input = inputs.emplace_back();
      input.type = call_.facts(operands_.first_state + i).type;
      const bool is_scanned = i >= num_states();
      if (operands_.is_batched) drop_axis(input.type, 0);
      if (!is_scanned) continue;
      drop_axis(input.type,
                operands_.is_batched ? 0 : attribute("scan_input_axes", i - num_states()));
    }
    return inputs;
  }

  static void drop_axis(ir::Type& type, std::int64_t axis) {
    // No error here: the types are needed only for a scan of no elements, and the run checks the
    // rest.
    if (!type.is_tensor() || type.shape() == nullptr) return;
    ir::Shape shape = *type.shape();
    const auto at = ops::normalize_axis(axis, shape.size());
    if (!at.is_ok()) return;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*at));
    type = type.with_shape(std::move(shape));
  }

  // ---- version 9 and later ----

  Status run_one() {
    std::vector<Carried> states(num_states());
    for (std::size_t i = 0; i < num_states(); ++i) states[i].start(SLUICE_TRY(state(i)));
    std::vector<Slices> inputs;
    for (std::size_t i = 0; i < num_inputs(); ++i) {
      const terms::TensorView tensor = SLUICE_TRY(scanned(i));
      const auto axis =
          SLUICE_TRY(ops::normalize_axis(attribute("scan_input_axes", i), tensor.dims.size()));
      inputs.push_back(SLUICE_TRY(Slices::create(tensor, static_cast<std::size_t>(axis))));
    }
    std::vector<Stack> outputs;
    SLUICE_TRY(run_sequence(states, inputs, SLUICE_TRY(common_length(inputs)), outputs));
    for (std::size_t i = 0; i < num_states(); ++i) SLUICE_TRY(states[i].give(call_, i));
    for (std::size_t i = 0; i < num_outputs(); ++i) SLUICE_TRY(give_output(i, outputs[i]));
    return ok_status();
  }

  static Result<std::int64_t> common_length(const std::vector<Slices>& inputs) {
    for (const Slices& input : inputs) {
      // The standard wants one length of all scan inputs; the shapes are known only now.
      if (input.count() == inputs.front().count()) continue;
      return StepCall::error("scan inputs have {} and {} elements", inputs.front().count(),
                             input.count());
    }
    return inputs.front().count();
  }

  Status give_output(std::size_t index, Stack& stack) {
    const std::size_t output = num_states() + index;
    // If the body has not run, its inferred type gives the shape of an item.
    terms::TensorView all = stack.view(stack.count() > 0 ? ir::Type() : unrun_type(output));
    if (!call_.has_output(output)) return ok_status();
    if (attribute("scan_output_directions", index) != 0) SLUICE_TRY(reverse(all, stack.memory()));
    const auto axis =
        SLUICE_TRY(ops::normalize_axis(attribute("scan_output_axes", index), all.dims.size()));
    if (axis == 0) return call_.give(output, all, stack.memory());
    AlignedBuffer moved;
    SLUICE_TRY(move_leading_axis(all, static_cast<std::size_t>(axis), moved, all));
    return call_.give(output, all, moved);
  }

  static Status reverse(terms::TensorView& all, AlignedBuffer& memory) {
    Slices slices = SLUICE_TRY(Slices::create(all, 0));
    Stack turned(slices.count());
    for (std::int64_t i = slices.count(); i-- > 0;) {
      SLUICE_TRY(turned.add(SLUICE_TRY(slices.at(i))));
    }
    if (slices.count() == 0) return ok_status();
    std::swap(memory, turned.memory());
    all.data = memory.data();
    return ok_status();
  }

  // ---- version 8: a batch of sequences, each with its own states ----

  Status run_batch() {
    std::vector<Slices> states;
    for (std::size_t i = 0; i < num_states(); ++i) {
      states.push_back(SLUICE_TRY(batch_of(SLUICE_TRY(state(i)), 1)));
    }
    std::vector<Slices> batches;
    for (std::size_t i = 0; i < num_inputs(); ++i) {
      batches.push_back(SLUICE_TRY(batch_of(SLUICE_TRY(scanned(i)), 2)));
    }
    const std::int64_t batch = SLUICE_TRY(common_length(batches));
    // A batched scan has a rank of 2 at least, as batch_of() checked.
    const std::int64_t most = SLUICE_TRY(scanned(0)).dims[1];
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch), most);
    if (call_.has_input(0)) lengths = SLUICE_TRY(call_.integers(0));
    SLUICE_TRY(check_batch(states, lengths, batch, most));
    std::vector<Stack> results = make_stacks(num_states() + num_outputs(), batch);
    for (std::int64_t b = 0; b < batch; ++b) {
      SLUICE_TRY(run_row(b, lengths[static_cast<std::size_t>(b)], most, states, batches, results));
    }
    return give_batch(results, batch, most);
  }

  static Result<Slices> batch_of(const terms::TensorView& tensor, std::size_t least_rank) {
    if (tensor.dims.size() < least_rank) {
      return StepCall::error("{} has no batch dimension", type_of(tensor).to_string());
    }
    return Slices::create(tensor, 0);
  }

  static Status check_batch(const std::vector<Slices>& states,
                            const std::vector<std::int64_t>& lengths, std::int64_t batch,
                            std::int64_t most) {
    for (const Slices& slices : states) {
      if (slices.count() == batch) continue;
      return StepCall::error("a state has {} rows, the batch {}", slices.count(), batch);
    }
    if (static_cast<std::int64_t>(lengths.size()) != batch) {
      return StepCall::error("{} lengths for a batch of {}", lengths.size(), batch);
    }
    for (const std::int64_t length : lengths) {
      if (length >= 0 && length <= most) continue;
      return StepCall::error("a length of {} in sequences of {}", length, most);
    }
    return ok_status();
  }

  Status run_row(std::int64_t row, std::int64_t length, std::int64_t most,
                 std::vector<Slices>& all_states, std::vector<Slices>& batches,
                 std::vector<Stack>& results) {
    std::vector<Carried> states(num_states());
    for (std::size_t i = 0; i < num_states(); ++i) {
      states[i].start(SLUICE_TRY(all_states[i].at(row)));
    }
    std::vector<Slices> inputs;
    for (Slices& batch : batches) {
      inputs.push_back(SLUICE_TRY(Slices::create(SLUICE_TRY(batch.at(row)), 0)));
    }
    SLUICE_TRY(common_length(inputs));
    std::vector<Stack> outputs;
    SLUICE_TRY(run_sequence(states, inputs, length, outputs));
    for (std::size_t i = 0; i < num_states(); ++i) SLUICE_TRY(results[i].add(states[i].view()));
    for (std::size_t i = 0; i < num_outputs(); ++i) {
      const std::size_t output = num_states() + i;
      // A sequence of length 0 in a batch: the other rows have items, so this one needs their
      // shape.
      const ir::Type unrun = outputs[i].count() > 0 ? ir::Type() : unrun_type(output);
      SLUICE_TRY(pad(outputs[i], most, unrun));
      SLUICE_TRY(results[output].add(outputs[i].view(unrun)));
    }
    return ok_status();
  }

  /// Pads the results of a sequence shorter than the longest with zeros.
  static Status pad(Stack& output, std::int64_t most, const ir::Type& unrun) {
    if (output.count() == 0 && most > 0) {
      const auto dims = unrun.static_dims();
      const auto size = dims ? ir::run_bytes(unrun) : std::nullopt;
      if (!size) {
        return unimplemented("the shape of a sequence without elements is not known: {}",
                             unrun.to_string());
      }
      AlignedBuffer zeros;
      SLUICE_TRY(zeros.reserve(*size));
      if (*size > 0) std::memset(zeros.data(), 0, static_cast<std::size_t>(*size));
      SLUICE_TRY(output.add({zeros.data(), *size, unrun.element(), *dims}));
    }
    return output.pad(most);
  }

  Status give_batch(std::vector<Stack>& results, std::int64_t batch, std::int64_t most) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool is_state = i < num_states();
      terms::TensorView all = results[i].view(batch > 0 ? ir::Type() : unrun_type(i));
      // Without rows the type is that of one element, so the dimension of the elements is missing.
      if (batch == 0 && !is_state) all.dims.insert(all.dims.begin() + 1, most);
      SLUICE_TRY(call_.give(i, all, results[i].memory()));
    }
    return ok_status();
  }

  // ---- one sequence ----

  static std::vector<Stack> make_stacks(std::size_t count, std::int64_t expected) {
    std::vector<Stack> stacks;
    for (std::size_t i = 0; i < count; ++i) stacks.emplace_back(expected);
    return stacks;
  }

  Status run_sequence(std::vector<Carried>& states, std::vector<Slices>& inputs,
                      // One stack per scan output; the body writes its item straight into the next
                      // place of it.
                      std::int64_t length, std::vector<Stack>& outputs) {
    outputs = make_stacks(num_outputs(), length);
    for (std::int64_t t = 0; t < length; ++t) {
      SLUICE_TRY(
          iterate(t, length, states, inputs, outputs).with_context(fmt::format("element {}", t)));
    }
    for (std::size_t i = 0; i < num_outputs(); ++i) {
      // The stacks are the caller's and may go away before the body runs again.
      body_.outputs[num_states() + i].bound = nullptr;
    }
    return ok_status();
  }

  Status iterate(std::int64_t t, std::int64_t length, std::vector<Carried>& states,
                 std::vector<Slices>& inputs, std::vector<Stack>& outputs) {
    for (std::size_t i = 0; i < states.size(); ++i) SLUICE_TRY(states[i].pass(body_, i));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // Backwards from the end of this sequence, which in a batch may be shorter than the longest.
      const std::int64_t at = is_backward(i) ? length - 1 - t : t;
      SLUICE_TRY(pass_tensor(body_, num_states() + i, SLUICE_TRY(inputs[i].at(at))));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      SLUICE_TRY(outputs[i].bind(body_.outputs[num_states() + i]));
    }
    SLUICE_TRY(call_.run(body_));
    for (std::size_t i = 0; i < states.size(); ++i) states[i].take(body_, i);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      SLUICE_TRY(outputs[i]
                     .add(body_.outputs[num_states() + i].view)
                     .with_context(fmt::format("scan output {}", i)));
    }
    return ok_status();
  }

  StepCall& call_;
  Frame& body_;
  ops::ScanOperands operands_;
  std::vector<ir::Type> unrun_types_;
};

}  // namespace

Status run_scan(StepCall& call) { return Scan(call).run(); }

}  // namespace sluice::exec
