// Reductions over axes. Floats are accumulated as doubles, integers wrap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// double for floats, the widest integer of the same sign for integers, bool for bools.
template <typename T>
using Accumulator = std::conditional_t<
    std::is_same_v<T, bool>, bool,
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;

// A reduction: what the empty sum is, how an element enters, what becomes of the sum of n elements.
// `A` is the accumulator; `T` the type that elements are computed in.

struct Sum {
  template <typename T, typename A>
  static A start() {
    return A{0};
  }
  template <typename A>
  static A step(A sum, A x) {
    return add(sum, x);
  }
  template <typename A>
  static A finish(A sum, std::int64_t /*count*/) {
    return sum;
  }
};

struct SumOfMagnitudes : Sum {
  template <typename A>
  static A step(A sum, A x) {
    return add(sum, is_negative(x) ? negate(x) : x);
  }
};

struct SumOfSquares : Sum {
  template <typename A>
  static A step(A sum, A x) {
    return add(sum, multiply(x, x));
  }
};

struct Norm : SumOfSquares {
  template <typename A>
  static A finish(A sum, std::int64_t /*count*/) {
    return convert<A>(std::sqrt(static_cast<double>(sum)));
  }
};

struct LogOfSum : Sum {
  template <typename A>
  static A finish(A sum, std::int64_t /*count*/) {
    return convert<A>(std::log(static_cast<double>(sum)));
  }
};

/// The mean of no elements is NaN, or 0 for integers.
struct Mean : Sum {
  template <typename A>
  static A finish(A sum, std::int64_t count) {
    if constexpr (std::is_floating_point_v<A>) return sum / static_cast<A>(count);
    return count == 0 ? A{0} : static_cast<A>(sum / static_cast<A>(count));
  }
};

struct Product : Sum {
  template <typename T, typename A>
  static A start() {
    return A{1};
  }
  template <typename A>
  static A step(A product, A x) {
    return multiply(product, x);
  }
};

template <typename T>
constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}
template <typename T>
constexpr T highest() {
  return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::max();
}

struct Max : Sum {
  template <typename T, typename A>
  static A start() {
    return lowest<T>();
  }
  template <typename A>
  static A step(A best, A x) {
    return largest(best, x);
  }
};

struct Min : Sum {
  template <typename T, typename A>
  static A start() {
    return highest<T>();
  }
  template <typename A>
  static A step(A best, A x) {
    return smallest(best, x);
  }
};

/// Dimensions of the input with 1 where it is reduced.
Status kept_dims(const Call& call, Ints* kept) {
  const Dims dims = dims_of(call.input(0));
  const Ints axes = read_integers(call.input(1));
  // Without axes all are reduced, unless the attribute says none.
  const bool is_all = axes.empty() && call.attributes().get_int("noop_with_empty_axes") == 0;
  kept->assign(dims.begin(), dims.end());
  if (is_all) std::ranges::fill(*kept, 1);
  for (const std::int64_t given : axes) {
    std::size_t axis = 0;
    Status status = normalize_axis(call.op(), given, dims.size(), &axis);
    if (!status.is_ok()) return status;
    (*kept)[axis] = 1;
  }
  if (product(*kept) == plugin::num_elements(call.output(0))) return plugin::ok();
  return refuse(call.op(), "the output does not have the reduced shape");
}

/// Calls `visit(element, place)`: the element's place in the reduced tensor.
template <typename T, typename Visit>
void for_each_reduced(const Call& call, const Ints& kept, const Visit& visit) {
  const auto x = call.input_elements<T>(0);
  for_each_broadcast(dims_of(call.input(0)), std::array{Dims(kept)}, [&](auto i, const auto& at) {
    visit(static_cast<Compute<T>>(x[static_cast<std::size_t>(i)]), static_cast<std::size_t>(at[0]));
  });
}

/// The number of input elements per output element.
std::int64_t elements_per_result(const Call& call, const Ints& kept) {
  const Dims dims = dims_of(call.input(0));
  std::int64_t count = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (kept[d] == dims[d]) continue;
    if (__builtin_mul_overflow(count, dims[d], &count)) return 0;  // another axis is empty
  }
  return count;
}

template <typename Reduction, typename T>
Status reduce(const Call& call) {
  using A = Accumulator<Compute<T>>;
  Ints kept;
  if (Status status = kept_dims(call, &kept); !status.is_ok()) return status;
  const auto y = call.output_elements<T>(0);
  std::vector<A> results(y.size(), Reduction::template start<Compute<T>, A>());
  for_each_reduced<T>(call, kept, [&](auto x, std::size_t place) {
    results[place] = Reduction::template step<A>(results[place], static_cast<A>(x));
  });
  const std::int64_t count = elements_per_result(call, kept);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = convert<Compute<T>>(Reduction::template finish<A>(results[i], count));
  }
  return plugin::ok();
}

/// log(sum(exp(x))), as max + log(sum(exp(x - max))) so that nothing overflows.
template <typename T>
Status reduce_log_sum_exp(const Call& call) {
  Ints kept;
  if (Status status = kept_dims(call, &kept); !status.is_ok()) return status;
  const auto y = call.output_elements<T>(0);
  std::vector<double> largest_of(y.size(), lowest<double>());
  std::vector<double> sums(y.size(), 0);
  for_each_reduced<T>(call, kept, [&](auto x, std::size_t place) {
    largest_of[place] = largest(largest_of[place], static_cast<double>(x));
  });
  // The difference of two infinities is NaN; 0 lets exp() give infinity or 0 instead.
  for (double& value : largest_of) value = std::isinf(value) ? 0 : value;
  for_each_reduced<T>(call, kept, [&](auto x, std::size_t place) {
    sums[place] += std::exp(static_cast<double>(x) - largest_of[place]);
  });
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = convert<Compute<T>>(largest_of[i] + std::log(sums[i]));
  }
  return plugin::ok();
}

template <auto kTypes>
Status check_reduce(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != op.inputs[0].tensor.element_type) {
    return refuse(op, "the element type must stay");
  }
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_type(op, 0, kTypes) : status;
}

template <typename Reduction, auto kTypes = kNumbers>
KernelEntry reduction(const char* kind) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kTypes, call.input(0).element_type,
                                [&]<typename T>() { return reduce<Reduction, T>(call); });
              },
          .check = check_reduce<kTypes>};
}

Status run_log_sum_exp(const Call& call) {
  return dispatch(kNumbers, call.input(0).element_type,
                  [&]<typename T>() { return reduce_log_sum_exp<T>(call); });
}

/// A NaN is the extreme, as it is the result of ReduceMax and ReduceMin.
template <bool kIsMax, typename T>
bool beats(T a, T best, bool takes_equal) {
  if (a != a || best != best) return a != a && (best == best || takes_equal);
  return (kIsMax ? a > best : a < best) || (takes_equal && a == best);
}

template <bool kIsMax, typename T>
Status arg_extreme(const Call& call) {
  const Dims dims = dims_of(call.input(0));
  std::size_t axis = 0;
  Status status = normalize_axis(call.op(), call.attributes().get_int("axis"), dims.size(), &axis);
  if (!status.is_ok()) return status;
  const bool takes_last = call.attributes().get_int("select_last_index") != 0;
  const AxisView view(dims, axis);
  const auto x = call.input_elements<T>(0);
  const auto y = call.output_elements<std::int64_t>(0);
  if (view.size == 0 || std::ssize(y) != view.outer * view.inner) {
    return refuse(call.op(), "the output does not have the reduced shape");
  }
  for_each_index(Ints{view.outer, view.inner}, [&](std::int64_t i, Dims at) {
    const auto element = [&](std::int64_t k) {
      const std::int64_t place = (at[0] * view.size + k) * view.inner + at[1];
      return static_cast<Compute<T>>(x[static_cast<std::size_t>(place)]);
    };
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < view.size; ++k) {
      if (beats<kIsMax>(element(k), element(best), takes_last)) best = k;
    }
    y[static_cast<std::size_t>(i)] = best;
  });
  return plugin::ok();
}

Status check_arg(const sluice_op& op) {
  if (op.outputs[0].tensor.element_type != plugin::kI64) return refuse(op, "the output is of i64");
  return check_type(op, 0, kNumbers);
}

template <bool kIsMax>
KernelEntry arg_reduction(const char* kind) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kNumbers, call.input(0).element_type,
                                [&]<typename T>() { return arg_extreme<kIsMax, T>(call); });
              },
          .check = check_arg};
}

}  // namespace

std::vector<KernelEntry> reduction_kernels() {
  return {
      arg_reduction<true>("ArgMax"),
      arg_reduction<false>("ArgMin"),
      reduction<SumOfMagnitudes>("ReduceL1"),
      reduction<Norm>("ReduceL2"),
      reduction<LogOfSum>("ReduceLogSum"),
      {.kind = "ReduceLogSumExp", .run = run_log_sum_exp, .check = check_reduce<kNumbers>},
      reduction<Max, kNumbersAndBool>("ReduceMax"),
      reduction<Mean>("ReduceMean"),
      reduction<Min, kNumbersAndBool>("ReduceMin"),
      reduction<Product>("ReduceProd"),
      reduction<Sum>("ReduceSum"),
      reduction<SumOfSquares>("ReduceSumSquare"),
  };
}

}  // namespace sluice::reference
