// What Loop and Scan hand from iteration to iteration.
#pragma once

#include "exec/step.h"

namespace sluice::exec {

/// Whether `output` of a body is nothing but its `input`: then no iteration changes the value.
bool hands_through(const Program& body, std::size_t input, std::size_t output);

/// A value that an iteration reads and the next one gets anew. A tensor lies in two buffers that
/// change places: the body reads one and writes the other; what comes in first is read in place.
class Carried {
 public:
  /// The value before the first iteration; a tensor must outlive the loop.
  Status start(StepCall& call, std::size_t input);
  void start(const TensorView& tensor);

  /// Makes it the body's input.
  Status pass(Frame& body, std::size_t input);
  /// Takes what the body made of it.
  void take(Frame& body, std::size_t output);
  /// Gives it as a result of the step.
  Status give(StepCall& call, std::size_t output);

  bool is_tensor() const { return is_tensor_; }
  const TensorView& view() const { return view_; }

 private:
  bool is_tensor_ = false;
  TensorView view_;  ///< in memory of others, or `memory_`
  AlignedBuffer memory_;
  Value value_;  ///< what is no tensor
};

/// Tensors of one shape along a new leading dimension, added one by one.
class Stack {
 public:
  /// `expected`: how many are to come, or -1.
  explicit Stack(std::int64_t expected = -1) : expected_(expected) {}

  /// Lets the body write its output straight into place where that is aligned.
  /// Fails: kResourceExhausted.
  Status bind(FrameOutput& output);
  /// Fails: kInvalidArgument for another type than that of the first; kUnimplemented for elements
  ///        that do not fill bytes; kResourceExhausted.
  Status add(const TensorView& item);
  /// Items of zeros until there are `count`.
  Status pad(std::int64_t count);

  std::int64_t count() const { return count_; }
  /// Of what was added; if nothing was, of items of `declared`, whose unknown dimensions are 0.
  TensorView view(const ir::Type& declared) const;
  AlignedBuffer& memory() { return memory_; }

 private:
  Status reserve_next();
  std::byte* next() const { return static_cast<std::byte*>(memory_.data()) + count_ * item_bytes_; }

  std::int64_t expected_;
  std::int64_t count_ = 0;
  std::int64_t item_bytes_ = 0;
  TensorView first_;  ///< type of the items; its data is not kept
  AlignedBuffer memory_;
};

/// The elements of a tensor along an axis, one after the other.
class Slices {
 public:
  /// `tensor` outlives this. Requires: axis < rank.
  /// Fails: kUnimplemented for elements that do not fill bytes.
  static Result<Slices> create(const TensorView& tensor, std::size_t axis);

  std::int64_t count() const { return count_; }
  /// In place where that is aligned, else in memory of this until the next call.
  Result<TensorView> at(std::int64_t index);

 private:
  TensorView tensor_;
  TensorView slice_;
  std::int64_t count_ = 0;
  std::int64_t num_rows_ = 1;  ///< product of the dimensions before the axis
  std::int64_t row_bytes_ = 0;
  AlignedBuffer memory_;
};

/// Copies `source`, items along dimension 0, to `target` with that dimension at `axis`.
Status move_leading_axis(const TensorView& source, std::size_t axis, AlignedBuffer& target,
                         TensorView& result);

}  // namespace sluice::exec
