// SplitToSequence and ConcatFromSequence: convert between a tensor and a sequence of its parts.
#include <cstring>

#include "exec/steps/iteration.h"
#include "ops/inference.h"

namespace sluice::exec {
namespace {

/// A tensor as rows of `count` units along an axis.
struct Rows {
  std::int64_t num_rows = 1;
  std::int64_t count = 0;
  std::int64_t unit_bytes = 0;
};

Result<Rows> rows_of(const terms::TensorView& tensor, std::size_t axis) {
  const std::int64_t unit = product(tensor.dims, axis + 1, tensor.dims.size());
  return Rows{product(tensor.dims, 0, axis), tensor.dims[axis],
              SLUICE_TRY(whole_bytes(tensor.element, unit))};
}

/// Copies units [begin, begin + part.count) of each row of `whole`, or back.
void copy_part(const Rows& whole, std::byte* whole_data, std::int64_t begin, const Rows& part,
               std::byte* part_data, bool is_split) {
  const std::int64_t size = part.count * part.unit_bytes;
  // A part of no elements may have no memory.
  if (size == 0) return;
  for (std::int64_t row = 0; row < part.num_rows; ++row) {
    std::byte* in_whole = whole_data + (row * whole.count + begin) * whole.unit_bytes;
    std::byte* in_part = part_data + row * size;
    std::memcpy(is_split ? in_part : in_whole, is_split ? in_whole : in_part,
                static_cast<std::size_t>(size));
  }
}

Result<std::vector<std::int64_t>> part_lengths(StepCall& call, std::int64_t total) {
  std::int64_t chunk = 1;
  if (call.has_input(1)) {
    auto lengths = SLUICE_TRY(call.integers(1));
    // A scalar is the length of all parts, the last of which may be shorter; a list gives each its
    // own.
    if (!SLUICE_TRY(call.tensor(1)).dims.empty()) {
      std::int64_t left = total;
      for (const std::int64_t length : lengths) {
        if (length < 0 || length > left) {
          return StepCall::error("parts do not add up to a dimension of {}", total);
        }
        left -= length;
      }
      if (left == 0) return lengths;
      return StepCall::error("parts leave {} of a dimension of {}", left, total);
    }
    chunk = lengths.front();
  }
  if (chunk <= 0) return StepCall::error("parts of {} elements", chunk);
  std::vector<std::int64_t> lengths;
  for (std::int64_t at = 0; at < total; at += lengths.back()) {
    lengths.push_back(std::min(chunk, total - at));
  }
  return lengths;
}

}  // namespace

Status run_split_to_sequence(StepCall& call) {
  const terms::TensorView whole = SLUICE_TRY(call.tensor(0));
  const auto axis = static_cast<std::size_t>(
      SLUICE_TRY(ops::normalize_axis(call.int_attribute("axis"), whole.dims.size())));
  const Rows rows = SLUICE_TRY(rows_of(whole, axis));
  // Without lengths every part is 1 long, and only then may that dimension be dropped.
  const bool drops_axis = !call.has_input(1) && call.int_attribute("keepdims", 1) == 0;
  auto sequence = std::make_shared<Sequence>();
  sequence->element = whole.element;
  std::int64_t begin = 0;
  for (const std::int64_t length : SLUICE_TRY(part_lengths(call, rows.count))) {
    const Rows part = {rows.num_rows, length, rows.unit_bytes};
    terms::TensorView view = whole;
    view.dims[axis] = length;
    view.size_bytes = part.num_rows * length * part.unit_bytes;
    auto memory = std::make_shared<AlignedBuffer>();
    SLUICE_TRY(memory->reserve(view.size_bytes));
    view.data = memory->data();
    copy_part(rows, static_cast<std::byte*>(whole.data), begin, part,
              static_cast<std::byte*>(view.data), true);
    if (drops_axis) view.dims.erase(view.dims.begin() + static_cast<std::ptrdiff_t>(axis));
    sequence->items.push_back(std::make_shared<Tensor>(Tensor{std::move(view), memory}));
    begin += length;
  }
  return call.give(0, Value{nullptr, std::move(sequence)});
}

namespace {

/// The items, each with the dimension along which they are joined: a new dimension of 1 if they are
/// stacked.
Result<std::vector<terms::TensorView>> parts_of(const Sequence& sequence, std::size_t axis,
                                                bool stacks) {
  const terms::TensorView& first = sequence.items.front()->view;
  std::vector<terms::TensorView> parts;
  for (const auto& item : sequence.items) {
    terms::TensorView part = item->view;
    std::vector<std::int64_t> others = part.dims;
    // Ranks are compared first, since `axis` is one of the first item's.
    const bool has_rank = others.size() == first.dims.size();  // else `axis` may be none of its own
    if (has_rank && !stacks) others[axis] = first.dims[axis];
    if (others != first.dims) {
      return StepCall::error("items {} and {} cannot be joined", type_of(first).to_string(),
                             type_of(item->view).to_string());
    }
    if (stacks) part.dims.insert(part.dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

Status run_concat_from_sequence(StepCall& call) {
  const auto sequence = SLUICE_TRY(call.sequence(0));
  if (sequence->items.empty()) return StepCall::error("an empty sequence cannot be joined");
  const bool stacks = call.int_attribute("new_axis") != 0;
  const std::size_t rank = sequence->items.front()->view.dims.size() + (stacks ? 1 : 0);
  const auto axis =
      static_cast<std::size_t>(SLUICE_TRY(ops::normalize_axis(call.int_attribute("axis"), rank)));
  const auto parts = SLUICE_TRY(parts_of(*sequence, axis, stacks));
  // The first item's dimensions, with the sum of the lengths along the axis.
  terms::TensorView whole = parts.front();
  whole.size_bytes = 0;
  whole.dims[axis] = 0;
  for (const terms::TensorView& part : parts) {
    whole.size_bytes += part.size_bytes;
    whole.dims[axis] += part.dims[axis];
  }
  AlignedBuffer memory;
  SLUICE_TRY(memory.reserve(whole.size_bytes));
  whole.data = memory.data();
  const Rows rows = SLUICE_TRY(rows_of(whole, axis));
  std::int64_t begin = 0;
  for (const terms::TensorView& part : parts) {
    copy_part(rows, static_cast<std::byte*>(whole.data), begin, SLUICE_TRY(rows_of(part, axis)),
              static_cast<std::byte*>(part.data), false);
    begin += part.dims[axis];
  }
  return call.give(0, whole, memory);
}

}  // namespace sluice::exec
