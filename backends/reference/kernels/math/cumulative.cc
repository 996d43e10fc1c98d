// Running sums and products along one axis.
#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

struct RunningSum {
  static constexpr int kStart = 0;
  template <typename T>
  static T step(T total, T x) {
    return add(total, x);
  }
};

struct RunningProduct {
  static constexpr int kStart = 1;
  template <typename T>
  static T step(T total, T x) {
    return multiply(total, x);
  }
};

/// Floats add up as doubles, which partial sums do not leave.
template <typename T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <typename Running, typename T>
Status accumulate(const Call& call) {
  const Dims dims = dims_of(call.input(0));
  const Ints given = read_integers(call.input(1));
  if (given.size() != 1) return refuse(call.op(), "axis must be a scalar");
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), given.front(), dims.size(), &axis);
  if (status.is_ok()) status = expect_dims(call, 0, dims);
  if (!status.is_ok()) return status;
  const bool is_exclusive = call.attributes().get_int("exclusive") != 0;
  const bool is_reversed = call.attributes().get_int("reverse") != 0;
  const AxisView view(dims, axis);
  const auto x = call.input_elements<T>(0);
  const auto y = call.output_elements<T>(0);
  for_each_index(Ints{view.outer, view.inner}, [&](std::int64_t /*i*/, Dims at) {
    auto total = static_cast<Total<Compute<T>>>(Running::kStart);
    for (std::int64_t k = 0; k < view.size; ++k) {
      // The running total goes from the end where `reverse` is set, and lands where it was read.
      const std::int64_t step = is_reversed ? view.size - 1 - k : k;
      const auto place = static_cast<std::size_t>((at[0] * view.size + step) * view.inner + at[1]);
      const auto with_this =
          Running::step(total, static_cast<Total<Compute<T>>>(static_cast<Compute<T>>(x[place])));
      y[place] = static_cast<Compute<T>>(is_exclusive ? total : with_this);
      total = with_this;
    }
  });
  return plugin::ok();
}

Status check_cumulative(const sluice_op& op) {
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_type(op, 0, kNumbers) : status;
}

template <typename Running>
KernelEntry cumulative(const char* kind) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kNumbers, call.input(0).element_type,
                                [&]<typename T>() { return accumulate<Running, T>(call); });
              },
          .check = check_cumulative,
          .num_required_inputs = 2,
          .output_types = {kTypeOfInput0}};
}

}  // namespace

std::vector<KernelEntry> cumulative_kernels() {
  return {cumulative<RunningProduct>("CumProd"), cumulative<RunningSum>("CumSum")};
}

}  // namespace sluice::reference
