// The same elements in the same order under another shape; Shape and Size, which only look at it.
#include <algorithm>
#include <cstring>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

/// Copies a whole tensor as bytes, for any element type.
Status copy_whole(const Call& call) {
  const sluice_tensor& from = call.input(0);
  const sluice_tensor& to = call.output(0);
  if (from.size_bytes != to.size_bytes) {
    return refuse(call.op(), "input and output differ in size");
  }
  if (from.data != to.data && to.size_bytes > 0) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(to.size_bytes));
  }
  return plugin::ok();
}

Status check_same_type(const sluice_op& op) {
  const sluice_element_type from = op.inputs[0].tensor.element_type;
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  return from == to ? plugin::ok() : refuse(op, "the element type must stay");
}

KernelEntry view(const char* kind) {
  return {.kind = kind, .run = copy_whole, .check = check_same_type};
}

Status run_shape(const Call& call) {
  const Dims dims = plugin::dims_of(call.input(0));
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto position = [&](const char* name, std::int64_t fallback) {
    const std::int64_t value = call.attributes().get_int(name, fallback);
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t start = position("start", 0);
  const std::int64_t count = std::max<std::int64_t>(position("end", rank) - start, 0);
  const Dims part = dims.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count));
  if (Status status = expect_dims(call, 0, Ints{count}); !status.is_ok()) return status;
  std::ranges::copy(part, call.output_elements<std::int64_t>(0).begin());
  return plugin::ok();
}

Status run_size(const Call& call) {
  if (Status status = expect_dims(call, 0, {}); !status.is_ok()) return status;
  call.output_elements<std::int64_t>(0)[0] = plugin::num_elements(call.input(0));
  return plugin::ok();
}

Status check_integer_result(const sluice_op& op) {
  const bool fits = op.outputs[0].tensor.element_type == plugin::kI64;
  return fits ? plugin::ok() : refuse(op, "the output must be of i64");
}

}  // namespace

std::vector<KernelEntry> reshape_kernels() {
  return {
      view("Flatten"),
      view("Identity"),
      view("Reshape"),
      {.kind = "Shape", .run = run_shape, .check = check_integer_result},
      {.kind = "Size", .run = run_size, .check = check_integer_result},
      view("Squeeze"),
      view("Unsqueeze"),
  };
}

}  // namespace sluice::reference
