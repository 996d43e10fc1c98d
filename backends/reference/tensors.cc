#include "reference/tensors.h"

#include <algorithm>
#include <cstring>

namespace sluice::reference {

using plugin::dims_of;

namespace {

PackedBits bits_of(const sluice_tensor& tensor) {
  const int bits = plugin::element_bits(tensor.element_type);
  return {{static_cast<std::byte*>(tensor.data), static_cast<std::size_t>(tensor.size_bytes)},
          bits};
}

/// Elements of whole bytes leave nothing to pad.
void clear_padding(const sluice_tensor& tensor) {
  const int used = static_cast<int>(plugin::num_elements(tensor) *
                                    plugin::element_bits(tensor.element_type) % 8);
  // Bits behind the last element are 0, so that equal tensors have equal bytes.
  if (used == 0 || tensor.size_bytes == 0) return;
  auto& last = static_cast<std::uint8_t*>(tensor.data)[tensor.size_bytes - 1];
  last = static_cast<std::uint8_t>(last & ((1U << used) - 1));
}

}  // namespace

Mover::Mover(const sluice_tensor& from, const sluice_tensor& to)
    : from_(bits_of(from)), to_(bits_of(to)), size_(plugin::element_bits(from.element_type) / 8) {
  clear_padding(to);
}

void Mover::copy(std::int64_t from_index, std::int64_t to_index, std::int64_t count) const {
  if (count <= 0) return;
  if (size_ > 0) {
    std::memmove(to_.bytes() + to_index * size_, from_.bytes() + from_index * size_,
                 static_cast<std::size_t>(count * size_));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to_.set(static_cast<std::size_t>(to_index + i),
            from_.get(static_cast<std::size_t>(from_index + i)));
  }
}

void Mover::clear(std::int64_t to_index) const {
  if (size_ > 0) {
    std::memset(to_.bytes() + to_index * size_, 0, static_cast<std::size_t>(size_));
  } else {
    to_.set(static_cast<std::size_t>(to_index), 0);
  }
}

Status check_movable(const sluice_op& op, int input) {
  if (input >= op.num_inputs) return plugin::ok();
  const sluice_element_type type = op.inputs[input].tensor.element_type;
  if (plugin::element_bits(type) == 0) return unsupported_type(op, type);
  const sluice_tensor& to = op.outputs[0].tensor;
  if (plugin::is_absent(to) || to.element_type == type) return plugin::ok();
  return refuse(op, "input " + std::to_string(input) + " and the output differ in element type");
}

Status check_first_movable(const sluice_op& op) { return check_movable(op, 0); }

Ints read_integers(const sluice_tensor& tensor) {
  Ints values;
  if (plugin::is_absent(tensor)) return values;
  static_cast<void>(dispatch(kInts + kBools, tensor.element_type, [&]<typename T>() {
    for (const T& element : plugin::elements<const T>(tensor)) {
      values.push_back(static_cast<std::int64_t>(element));
    }
    return plugin::ok();
  }));
  return values;
}

Status normalize_axis(const sluice_op& op, std::int64_t axis, std::size_t rank,
                      std::size_t* result) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return refuse(op, "axis " + std::to_string(axis) + " is outside a tensor of rank " +
                          std::to_string(rank));
  }
  *result = static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
  return plugin::ok();
}

Status normalize_index(std::int64_t index, std::size_t axis, std::int64_t size,
                       std::int64_t* result) {
  if (index < -size || index >= size) {
    return plugin::index_outside(index, static_cast<std::int64_t>(axis), size);
  }
  *result = index < 0 ? index + size : index;
  return plugin::ok();
}

Status length_outside(const sluice_op& op, std::int64_t length, std::int64_t most) {
  return refuse(op, "a sequence of length " + std::to_string(length) + "; the input has " +
                        std::to_string(most) + " steps");
}

Status expect_dims(const Call& call, int output, Dims expected) {
  const Dims given = dims_of(call.output(output));
  if (std::ranges::equal(given, expected)) return plugin::ok();
  return refuse(call.op(), "computes " + plugin::to_string(expected) + ", the output is " +
                               plugin::to_string(given));
}

std::int64_t product(Dims dims) { return plugin::num_elements(dims); }

}  // namespace sluice::reference
