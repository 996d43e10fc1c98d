// Operators that create, change and read sequences. Sequences share their items.
#include "exec/context/step.h"

namespace sluice::exec {
namespace {

using SequencePtr = std::shared_ptr<Sequence>;

Result<std::shared_ptr<const Tensor>> read_item(StepCall& call, std::size_t input) {
  Value value = SLUICE_TRY(call.value(input));
  if (value.tensor) return std::move(value.tensor);
  return StepCall::error("input {} must be a tensor, not {}", input, value.describe());
}

Status append(Sequence& sequence, std::size_t position, std::shared_ptr<const Tensor> item) {
  const ir::ElementType element = item->view.element;
  if (!sequence.items.empty() && sequence.element != element) {
    return StepCall::error("{} cannot be put into a sequence of {}",
                           type_of(item->view).to_string(),
                           ir::element_type_name(sequence.element));
  }
  sequence.element = element;
  sequence.items.insert(sequence.items.begin() + static_cast<std::ptrdiff_t>(position),
                        std::move(item));
  return ok_status();
}

/// The position in input `index`, or `fallback` if absent. Negative positions count from the end of
/// `count` items.
Result<std::size_t> read_position(StepCall& call, std::size_t index, std::size_t count,
                                  std::size_t fallback, bool may_be_end) {
  if (!call.has_input(index)) return fallback;
  const std::int64_t given = SLUICE_TRY(call.integer(index));
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t position = given < 0 ? given + size : given;
  if (position < 0 || position >= size + (may_be_end ? 1 : 0)) {
    return StepCall::error("position {} is outside a sequence of {} items", given, count);
  }
  return static_cast<std::size_t>(position);
}

/// Returns a sequence that may be changed: the argument if this is its only owner, otherwise a
/// copy.
SequencePtr own(SequencePtr sequence) {
  if (sequence.use_count() == 1) return sequence;
  return std::make_shared<Sequence>(*sequence);
}

}  // namespace

Status run_sequence_construct(StepCall& call) {
  auto sequence = std::make_shared<Sequence>();
  for (std::size_t i = 0; i < call.operation().inputs.size(); ++i) {
    SLUICE_TRY(append(*sequence, i, SLUICE_TRY(read_item(call, i))));
  }
  return call.give(0, Value{nullptr, std::move(sequence)});
}

Status run_sequence_empty(StepCall& call) {
  auto sequence = std::make_shared<Sequence>();
  sequence->element = ir::element_type_from_onnx(call.int_attribute("dtype", 1))
                          .value_or(ir::ElementType::kUndefined);
  return call.give(0, Value{nullptr, std::move(sequence)});
}

Status run_sequence_insert(StepCall& call) {
  auto item = SLUICE_TRY(read_item(call, 1));
  SequencePtr sequence = own(SLUICE_TRY(call.sequence(0)));
  const std::size_t count = sequence->items.size();
  const std::size_t position = SLUICE_TRY(read_position(call, 2, count, count, true));
  SLUICE_TRY(append(*sequence, position, std::move(item)));
  return call.give(0, Value{nullptr, std::move(sequence)});
}

Status run_sequence_erase(StepCall& call) {
  SequencePtr sequence = own(SLUICE_TRY(call.sequence(0)));
  const std::size_t count = sequence->items.size();
  if (count == 0) return StepCall::error("nothing can be erased from an empty sequence");
  const std::size_t position = SLUICE_TRY(read_position(call, 1, count, count - 1, false));
  sequence->items.erase(sequence->items.begin() + static_cast<std::ptrdiff_t>(position));
  return call.give(0, Value{nullptr, std::move(sequence)});
}

Status run_sequence_at(StepCall& call) {
  const SequencePtr sequence = SLUICE_TRY(call.sequence(0));
  const std::size_t position = SLUICE_TRY(read_position(call, 1, sequence->items.size(), 0, false));
  return call.give(0, Value{sequence->items[position], nullptr});
}

Status run_sequence_length(StepCall& call) {
  const SequencePtr sequence = SLUICE_TRY(call.sequence(0));
  return call.give_integer(0, ir::ElementType::kI64,
                           static_cast<std::int64_t>(sequence->items.size()));
}

}  // namespace sluice::exec
