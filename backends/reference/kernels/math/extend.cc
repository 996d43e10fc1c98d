// Larger tensors from small ones: Expand, Pad, Tile.
#include <algorithm>
#include <array>
#include <optional>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

Status run_expand(const Call& call) {
  const Dims input = dims_of(call.input(0));
  const Dims output = dims_of(call.output(0));
  Ints expected;
  Status status = broadcast_dims(input, read_integers(call.input(1)), &expected);
  if (status.is_ok()) status = expect_dims(call, 0, expected);
  if (!status.is_ok()) return {status.code, "Expand: " + status.text};
  const Mover mover(call.input(0), call.output(0));
  for_each_broadcast(output, std::array{input},
                     [&](std::int64_t i, const auto& at) { mover.copy(at[0], i); });
  return plugin::ok();
}

Status run_tile(const Call& call) {
  const Dims input = dims_of(call.input(0));
  Ints expected = read_integers(call.input(1));
  if (expected.size() != input.size()) return refuse(call.op(), "repeats has a wrong length");
  for (std::size_t d = 0; d < input.size(); ++d) {
    if (expected[d] < 0 || __builtin_mul_overflow(expected[d], input[d], &expected[d])) {
      return refuse(call.op(), "repeats are out of range");
    }
  }
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const Ints strides = strides_of(input);
  const Mover mover(call.input(0), call.output(0));
  for_each_index(expected, [&](std::int64_t i, Dims index) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < input.size(); ++d) from += index[d] % input[d] * strides[d];
    mover.copy(from, i);
  });
  return plugin::ok();
}

Status check_sized(const sluice_op& op) {
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

/// Where position `index` of a padded dimension reads a dimension of `size`; nullopt for nowhere.
using Source = std::optional<std::int64_t> (*)(std::int64_t index, std::int64_t size);

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

std::optional<std::int64_t> constant_source(std::int64_t index, std::int64_t size) {
  return index >= 0 && index < size ? std::optional(index) : std::nullopt;
}
std::optional<std::int64_t> edge_source(std::int64_t index, std::int64_t size) {
  return std::clamp<std::int64_t>(index, 0, size - 1);
}
std::optional<std::int64_t> wrap_source(std::int64_t index, std::int64_t size) {
  return floor_mod(index, size);
}
/// 0 1 2 3 2 1 0 1 ...: mirrors at the edges without repeating the edge elements.
std::optional<std::int64_t> reflect_source(std::int64_t index, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  // Position 0 to 2 * (size - 1) is one way there and back; the way repeats.
  const std::int64_t place = floor_mod(index, period);
  return place < size ? place : period - place;
}

Source source_of(std::string_view mode) {
  if (mode == "constant") return constant_source;
  if (mode == "edge") return edge_source;
  if (mode == "wrap") return wrap_source;
  return mode == "reflect" ? reflect_source : nullptr;
}

Status check_pad(const sluice_op& op) {
  if (source_of(plugin::Attributes(op).get_text("mode", "constant")) == nullptr) {
    return refuse(op, "mode must be constant, edge, reflect or wrap");
  }
  const bool has_value = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  if (has_value && op.inputs[2].tensor.element_type != op.inputs[0].tensor.element_type) {
    return refuse(op, "constant_value has another element type than data");
  }
  Status status = check_type(op, 3, kIndices);
  return status.is_ok() ? check_sized(op) : status;
}

/// Padding before and after each dimension of the input.
Status read_pads(const Call& call, Ints* before, Ints* after) {
  const std::size_t rank = dims_of(call.input(0)).size();
  const Ints pads = read_integers(call.input(1));
  Ints axes = read_integers(call.input(3));
  if (!call.has_input(3)) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  if (pads.size() != 2 * axes.size()) return refuse(call.op(), "pads has a wrong length");
  before->assign(rank, 0);
  after->assign(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t axis = 0;
    Status status = normalize_axis(call.op(), axes[i], rank, &axis);
    if (!status.is_ok()) return status;
    (*before)[axis] = pads[i];
    (*after)[axis] = pads[i + axes.size()];
  }
  return plugin::ok();
}

Status padded_dims(const Call& call, const Ints& before, const Ints& after, Ints* dims) {
  const Dims input = dims_of(call.input(0));
  for (std::size_t d = 0; d < input.size(); ++d) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;  // sums stay far from overflow
    const bool is_far = input[d] > kMost || before[d] > kMost || before[d] < -kMost ||
                        after[d] > kMost || after[d] < -kMost;
    if (is_far) return refuse(call.op(), "pads are out of range");
    dims->push_back(input[d] + before[d] + after[d]);
  }
  return expect_dims(call, 0, *dims);
}

Status run_pad(const Call& call) {
  const Dims input = dims_of(call.input(0));
  Ints before;
  Ints after;
  Ints dims;
  Status status = read_pads(call, &before, &after);
  if (status.is_ok()) status = padded_dims(call, before, after, &dims);
  if (!status.is_ok()) return status;
  const std::string_view mode = call.attributes().get_text("mode", "constant");
  // Other modes read the input, and there is none.
  if (mode != "constant" && plugin::num_elements(input) == 0 && product(dims) != 0) {
    return refuse(call.op(), "there is nothing to pad with");
  }
  const Source source = source_of(mode);
  const Ints strides = strides_of(input);
  const Mover data(call.input(0), call.output(0));
  const bool has_value = call.has_input(2) && plugin::num_elements(call.input(2)) > 0;
  const Mover value(call.input(2), call.output(0));
  for_each_index(dims, [&](std::int64_t i, Dims index) {
    std::int64_t from = 0;
    bool is_inside = true;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto place = source(index[d] - before[d], input[d]);
      is_inside = is_inside && place.has_value();
      from += place.value_or(0) * strides[d];
    }
    if (is_inside) {
      data.copy(from, i);
    } else if (has_value) {
      value.copy(0, i);
    } else {
      data.clear(i);
    }
  });
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> extend_kernels() {
  return {
      {.kind = "Expand", .run = run_expand, .check = check_sized, .num_required_inputs = 2},
      {.kind = "Pad", .run = run_pad, .check = check_pad, .num_required_inputs = 2},
      {.kind = "Tile", .run = run_tile, .check = check_sized, .num_required_inputs = 2},
  };
}

}  // namespace sluice::reference
