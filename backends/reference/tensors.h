// What kernels that move elements, or read positions from tensors, share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/broadcast.h"
#include "reference/elements.h"
#include "reference/kernels.h"
#include "reference/small_floats.h"

namespace sluice::reference {

using Ints = std::vector<std::int64_t>;

/// Copies elements of one type as opaque bits, whatever they mean: numbers, texts, parts of bytes.
/// Requires: `check_movable`. The bits that pad the last byte of `to` become 0.
class Mover {
 public:
  Mover(const sluice_tensor& from, const sluice_tensor& to);

  void copy(std::int64_t from_index, std::int64_t to_index, std::int64_t count = 1) const;
  /// The element of all zero bits: 0, 0.0, false, "".
  void clear(std::int64_t to_index) const;

 private:
  PackedBits from_;
  PackedBits to_;
  std::int64_t size_;  ///< bytes of an element; 0 for parts of bytes
};

/// `check` of kernels that move the elements of input `input` with a Mover.
Status check_movable(const sluice_op& op, int input);
Status check_first_movable(const sluice_op& op);

/// Input `input` is absent or has one of the types.
template <typename... Ts>
Status check_type(const sluice_op& op, int input, Types<Ts...> types);

/// Elements of a tensor of any integer type or bool; empty if it is absent.
Ints read_integers(const sluice_tensor& tensor);

/// -rank <= axis < rank, made non-negative.
/// Fails: SLUICE_INVALID_ARGUMENT.
Status normalize_axis(const sluice_op& op, std::int64_t axis, std::size_t rank,
                      std::size_t* result);

/// An index of a dimension of `size`, made non-negative.
/// Fails: SLUICE_INVALID_ARGUMENT.
Status normalize_index(std::int64_t index, std::size_t axis, std::int64_t size,
                       std::int64_t* result);

/// Output `output` has these dimensions; what follows may write them all.
/// Fails: SLUICE_INVALID_ARGUMENT: the host planned another shape than the kernel computes.
Status expect_dims(const Call& call, int output, Dims expected);

/// The error of a sequence's length that is data.
Status length_outside(const sluice_op& op, std::int64_t length, std::int64_t most);

/// Product of the dimensions, 1 without any; -1 past 64 bits, as of the axes of a tensor that
/// another axis leaves without elements.
std::int64_t product(Dims dims);

/// Calls `visit(i, index)` for all indices of `dims` in row-major order, i = 0, 1, ...
template <typename Visit>
void for_each_index(Dims dims, const Visit& visit) {
  Ints index(dims.size(), 0);
  const std::int64_t count = plugin::num_elements(dims);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, std::span<const std::int64_t>(index));
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

/// As above until `visit` fails.
template <typename Visit>
Status try_each_index(Dims dims, const Visit& visit) {
  Status status;
  for_each_index(dims, [&](std::int64_t i, Dims index) {
    if (status.is_ok()) status = visit(i, index);
  });
  return status;
}

/// A tensor seen as [outer, size, inner] around one of its axes.
struct AxisView {
  std::int64_t outer, size, inner;

  AxisView(Dims dims, std::size_t axis)
      : outer(product(dims.first(axis))),
        size(dims[axis]),
        inner(product(dims.subspan(axis + 1))) {}
};

Status unsupported_type(const sluice_op& op, sluice_element_type type);

template <typename... Ts>
Status check_type(const sluice_op& op, int input, Types<Ts...> types) {
  if (input >= op.num_inputs) return plugin::ok();
  const sluice_element_type type = op.inputs[input].tensor.element_type;
  if (type == plugin::kAbsent || contains(types, type)) return plugin::ok();
  return unsupported_type(op, type);
}

}  // namespace sluice::reference
