// TopK.
#include <algorithm>
#include <numeric>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// Lines of `length` elements, `inner` apart, of which `k` are kept.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1, k = 0;
};

Status make_lines(const Call& call, Lines* lines) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const std::int64_t axis = wrap_axis(call.attributes().get_int("axis", -1), x.size());
  if (axis < 0 || y.size() != x.size()) return refuse(call, "the axis is outside the input");
  *lines = {size_of(x.first(index(axis))), x[index(axis)], size_of(x.subspan(index(axis) + 1)),
            y[index(axis)]};
  std::vector<std::int64_t> expected(x.begin(), x.end());
  expected[index(axis)] = lines->k;
  if (lines->k > lines->length) return refuse(call, "K is larger than the axis");
  Status status = check_dims(call, call.output(0), expected, "Values");
  if (status.is_ok()) status = check_dims(call, call.output(1), expected, "Indices");
  return status;
}

/// Whether `a` is smaller: a NaN counts as larger than every number, as in NumPy and PyTorch.
template <typename T>
bool is_smaller(T a, T b) {
  return a < b || (a == a && b != b);
}

/// Equal elements keep their order.
template <typename T>
void find_top(const Call& call, const Lines& lines) {
  const auto x = call.input_elements<T>(0);
  const auto values = call.output_elements<T>(0);
  const auto indices = call.output_elements<std::int64_t>(1);
  const bool is_largest = call.attributes().get_int("largest", 1) != 0;
  std::vector<std::int64_t> order(index(lines.length));
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    const std::int64_t o = line / lines.inner;
    const std::int64_t i = line % lines.inner;
    const auto value = [&](std::int64_t at) {
      return static_cast<Compute<T>>(x[index((o * lines.length + at) * lines.inner + i)]);
    };
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return is_largest ? is_smaller(value(b), value(a)) : is_smaller(value(a), value(b));
    });
    for (std::int64_t r = 0; r < lines.k; ++r) {
      const std::size_t target = index((o * lines.k + r) * lines.inner + i);
      values[target] = x[index((o * lines.length + order[index(r)]) * lines.inner + i)];
      indices[target] = order[index(r)];
    }
  }
}

Status run_top_k(const Call& call) {
  Lines lines;
  if (Status status = make_lines(call, &lines); !status.is_ok()) return status;
  if (call.output(1).element_type != plugin::kI64 ||
      call.output(0).element_type != call.input(0).element_type) {
    return refuse_model(call, "its outputs have the input's type and i64");
  }
  return dispatch(kNumbers, call.input(0).element_type, [&]<typename T>() {
    find_top<T>(call, lines);
    return plugin::ok();
  });
}

}  // namespace

std::vector<KernelEntry> top_k_kernels() { return {{.kind = "TopK", .run = run_top_k}}; }

}  // namespace sluice::reference
