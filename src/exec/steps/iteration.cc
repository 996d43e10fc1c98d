#include "exec/steps/iteration.h"

#include <cstring>
#include <utility>

#include "backend/memory.h"
#include "base/checked.h"

namespace sluice::exec {

Result<std::int64_t> whole_bytes(ir::ElementType element, std::int64_t count) {
  // A string is a sluice_text during a run: an address and a size of 8 bytes each.
  const int bits = element == ir::ElementType::kString ? 128 : ir::element_bits(element);
  if (bits % 8 != 0 && count * bits % 8 != 0) {
    return unimplemented("parts of {} elements of {} do not fill bytes", count,
                         ir::element_type_name(element));
  }
  return count * bits / 8;
}

std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= dims[i];
  return result;
}

namespace {

void copy_bytes(void* to, const void* from, std::int64_t size_bytes) {
  if (size_bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(size_bytes));
}

}  // namespace

/// Such an output needs no copy: the value that came in goes on to the next iteration.
bool hands_through(const SubgraphCode& body, std::size_t input, std::size_t output) {
  return body.subgraph->inputs[input] == body.subgraph->outputs[output];
}

// ---- Carried ----

Status Carried::start(StepCall& call, std::size_t input) {
  is_tensor_ = call.is_tensor(input);
  if (is_tensor_) {
    view_ = SLUICE_TRY(call.tensor(input));
  } else {
    value_ = SLUICE_TRY(call.value(input));
  }
  return ok_status();
}

void Carried::start(const terms::TensorView& tensor) {
  is_tensor_ = true;
  view_ = tensor;
}

Status Carried::pass(Frame& body, std::size_t input) {
  if (is_tensor_) return pass_tensor(body, input, view_);
  return pass_value(body, input, std::exchange(value_, Value{}));
}

void Carried::take(Frame& body, std::size_t output) {
  FrameOutput& from = body.outputs[output];
  is_tensor_ = body.code.is_tensor(body.code.subgraph->outputs[output]);
  if (!is_tensor_) {
    value_ = std::exchange(from.value, Value{});
    return;
  }
  // The body wrote into `from.own`. After the swap the value lies in `memory_`, and the body's next
  // write goes to the buffer that held the previous value, which nothing reads any more.
  view_ = from.view;
  std::swap(memory_, from.own);
}

Status Carried::give(StepCall& call, std::size_t output) {
  if (!is_tensor_) return call.give(output, std::move(value_));
  // The value lies in memory of its own, which the step's output takes over; another one, such as
  // the initial value after no iteration, is copied.
  if (view_.data == memory_.data()) return call.give(output, view_, memory_);
  return call.give_copy(output, view_);
}

// ---- Stack ----

Status Stack::reserve_next() {
  // Reserves all items at once if their number is known. Bounded, because the number is the trip
  // count in the model, which may be huge while the condition ends the loop early.
  constexpr std::int64_t kMaxReservedBytes = std::int64_t{256} << 20;
  const auto used = checked_mul(count_, item_bytes_);
  const auto needed = used ? checked_add(*used, item_bytes_) : std::nullopt;
  if (!needed) return make_error(Code::kResourceExhausted, "the results pass 64 bits of bytes");
  const auto all = checked_mul(expected_, item_bytes_);
  const bool is_told = expected_ > 0 && all && *all <= kMaxReservedBytes;
  return memory_.grow(is_told && *all > *needed ? *all : *needed, *used);
}

// The size of an item is known after the first, so only that one is copied.
Status Stack::bind(FrameOutput& output) {
  output.bound = nullptr;
  if (count_ == 0 || item_bytes_ == 0) return ok_status();
  SLUICE_TRY(reserve_next());
  output.bound = next();
  output.capacity_bytes = item_bytes_;
  return ok_status();
}

Status Stack::add(const terms::TensorView& item) {
  if (count_ == 0) {
    // All items have the shape of the first one, as the result is one tensor.
    first_ = item;
    const std::int64_t elements = product(item.dims, 0, item.dims.size());
    item_bytes_ = SLUICE_TRY(whole_bytes(item.element, elements));
  } else if (item.element != first_.element || item.dims != first_.dims) {
    return invalid_argument("iteration {} returned {}, earlier iterations {}", count_,
                            type_of(item).to_string(), type_of(first_).to_string());
  }
  SLUICE_TRY(reserve_next());
  // Equal addresses: the body wrote the item to its place, which bind() gave it.
  if (item.data != next()) copy_bytes(next(), item.data, item_bytes_);
  ++count_;
  return ok_status();
}

Status Stack::pad(std::int64_t count) {
  while (count_ < count) {
    SLUICE_TRY(reserve_next());
    if (item_bytes_ > 0) std::memset(next(), 0, static_cast<std::size_t>(item_bytes_));
    ++count_;
  }
  return ok_status();
}

terms::TensorView Stack::view(const ir::Type& unrun) const {
  terms::TensorView all = {memory_.data(), count_ * item_bytes_, first_.element, {count_}};
  if (first_.element != ir::ElementType::kUndefined) {
    all.dims.insert(all.dims.end(), first_.dims.begin(), first_.dims.end());
    return all;
  }
  // No iteration ran: the declared type gives the result, with 0 for dimensions that only a run
  // would know.
  all.element = unrun.element();
  const ir::Shape* shape = unrun.is_tensor() ? unrun.shape() : nullptr;
  for (const ir::Dim& dim : shape != nullptr ? *shape : ir::Shape()) {
    all.dims.push_back(dim.is_known() && dim.value() > 0 ? dim.value() : 0);
  }
  return all;
}

// ---- Slices ----

Result<Slices> Slices::create(const terms::TensorView& tensor, std::size_t axis) {
  Slices slices;
  slices.tensor_ = tensor;
  slices.count_ = tensor.dims[axis];
  slices.num_rows_ = product(tensor.dims, 0, axis);
  slices.row_bytes_ =
      SLUICE_TRY(whole_bytes(tensor.element, product(tensor.dims, axis + 1, tensor.dims.size())));
  slices.slice_ = tensor;
  slices.slice_.dims.erase(slices.slice_.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  slices.slice_.size_bytes = slices.num_rows_ * slices.row_bytes_;
  return slices;
}

Result<terms::TensorView> Slices::at(std::int64_t index) {
  auto* first = static_cast<std::byte*>(tensor_.data) + index * row_bytes_;
  // A slice along the first axis is contiguous and is read in place; others are gathered.
  if (num_rows_ == 1 && backend::is_aligned(first)) {
    slice_.data = first;
    return slice_;
  }
  SLUICE_TRY(memory_.reserve(slice_.size_bytes));
  slice_.data = memory_.data();
  for (std::int64_t row = 0; row < num_rows_; ++row) {
    copy_bytes(static_cast<std::byte*>(memory_.data()) + row * row_bytes_,
               first + row * count_ * row_bytes_, row_bytes_);
  }
  return slice_;
}

Status move_leading_axis(const terms::TensorView& source, std::size_t axis, AlignedBuffer& target,
                         terms::TensorView& result) {
  const std::int64_t count = source.dims[0];
  const std::int64_t num_rows = product(source.dims, 1, axis + 1);
  const std::int64_t row_bytes =
      SLUICE_TRY(whole_bytes(source.element, product(source.dims, axis + 1, source.dims.size())));
  SLUICE_TRY(target.reserve(source.size_bytes));
  const auto* from = static_cast<const std::byte*>(source.data);
  auto* to = static_cast<std::byte*>(target.data());
  for (std::int64_t item = 0; item < count; ++item) {
    for (std::int64_t row = 0; row < num_rows; ++row) {
      copy_bytes(to + (row * count + item) * row_bytes, from + (item * num_rows + row) * row_bytes,
                 row_bytes);
    }
  }
  result = source;
  result.data = target.data();
  result.dims.erase(result.dims.begin());
  result.dims.insert(result.dims.begin() + static_cast<std::ptrdiff_t>(axis), count);
  return ok_status();
}

}  // namespace sluice::exec
