// Values that Loop and Scan carry between iterations, stack over them or slice for them.
#pragma once

#include "exec/context/step.h"

namespace sluice::exec {

/// Product of the dimensions [begin, end).
std::int64_t product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end);

/// Bytes of `count` elements. Fails: kUnimplemented if they end inside a byte.
Result<std::int64_t> whole_bytes(ir::ElementType element, std::int64_t count);

/// Whether `output` of a body is its `input` unchanged.
bool hands_through(const SubgraphCode& body, std::size_t input, std::size_t output);

/// A loop-carried value. Double-buffered if a tensor: the body reads one buffer and writes the
/// other, and the buffers swap after each iteration. The initial value is read in place.
class Carried {
 public:
  /// The value before the first iteration; a tensor must outlive the loop.
  Status start(StepCall& call, std::size_t input);
  void start(const terms::TensorView& tensor);

  /// Passes the current value to the body.
  Status pass(Frame& body, std::size_t input);
  /// Takes the body's output as the new value.
  void take(Frame& body, std::size_t output);
  /// Stores the final value as a result of the step.
  Status give(StepCall& call, std::size_t output);

  bool is_tensor() const { return is_tensor_; }
  const terms::TensorView& view() const { return view_; }

 private:
  bool is_tensor_ = false;
  terms::TensorView view_;  ///< the initial value's memory, or `memory_`
  AlignedBuffer memory_;
  Value value_;  ///< what is no tensor
};

/// Stacks tensors of equal shape along a new leading dimension.
class Stack {
 public:
  /// `expected`: number of items to come, or -1 if unknown.
  explicit Stack(std::int64_t expected = -1) : expected_(expected) {}

  /// Lets the body write its output straight into place where that is aligned.
  /// Fails: kResourceExhausted.
  Status bind(FrameOutput& output);
  /// Fails: kInvalidArgument if the type differs from the first item's; kUnimplemented for elements
  ///        that do not fill bytes; kResourceExhausted.
  Status add(const terms::TensorView& item);
  /// Appends zeros until there are `count` items.
  Status pad(std::int64_t count);

  std::int64_t count() const { return count_; }
  /// All items as one tensor. Without items: zero items of type `unrun`, its unknown dimensions
  /// taken as 0.
  terms::TensorView view(const ir::Type& unrun) const;
  AlignedBuffer& memory() { return memory_; }

 private:
  Status reserve_next();
  std::byte* next() const { return static_cast<std::byte*>(memory_.data()) + count_ * item_bytes_; }

  std::int64_t expected_;
  std::int64_t count_ = 0;
  std::int64_t item_bytes_ = 0;
  terms::TensorView first_;  ///< type of the items; its data is not kept
  AlignedBuffer memory_;
};

/// The elements of a tensor along an axis, one after the other.
class Slices {
 public:
  /// `tensor` outlives this.
  /// Requires: axis < rank.
  /// Fails: kUnimplemented for elements that do not fill bytes.
  static Result<Slices> create(const terms::TensorView& tensor, std::size_t axis);

  std::int64_t count() const { return count_; }
  /// A view of the slice if it is contiguous and aligned; otherwise a copy, valid until the next
  /// call.
  Result<terms::TensorView> at(std::int64_t index);

 private:
  terms::TensorView tensor_;
  terms::TensorView slice_;
  std::int64_t count_ = 0;
  std::int64_t num_rows_ = 1;  ///< product of the dimensions before the axis
  std::int64_t row_bytes_ = 0;
  AlignedBuffer memory_;
};

/// Copies `source`, items along dimension 0, to `target` with that dimension at `axis`.
Status move_leading_axis(const terms::TensorView& source, std::size_t axis, AlignedBuffer& target,
                         terms::TensorView& result);

}  // namespace sluice::exec
