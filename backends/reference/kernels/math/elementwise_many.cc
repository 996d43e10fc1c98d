// Any number of broadcast inputs, or inputs with roles: Max, Sum, Where, Clip.
#include <algorithm>

#include "reference/arithmetic.h"
#include "reference/elementwise.h"
#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// Folds the inputs from the left; what `finish` makes of an element and the number of inputs.
template <typename T, typename Fold, typename Finish>
void fold_inputs(const Call& call, const Fold& fold, const Finish& finish) {
  const Dims dims = dims_of(call.output(0));
  const auto y = call.output_elements<T>(0);
  // In the type of computation, so that 16-bit floats are rounded once at the end.
  std::vector<Compute<T>> results(y.size());
  for (int k = 0; k < call.num_inputs(); ++k) {
    const auto x = call.input_elements<T>(k);
    for_each_broadcast(dims, std::array{dims_of(call.input(k))}, [&](auto i, const auto& at) {
      auto& result = results[static_cast<std::size_t>(i)];
      const auto value = static_cast<Compute<T>>(x[static_cast<std::size_t>(at[0])]);
      result = k == 0 ? value : fold(result, value);
    });
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = finish(results[i], call.num_inputs());
}

struct Unchanged {
  template <typename T>
  T operator()(T value, int /*count*/) const {
    return value;
  }
};

struct DividedByCount {
  template <typename T>
  T operator()(T value, int count) const {
    return value / static_cast<T>(count);
  }
};

template <auto kTypes>
Status check_variadic(const sluice_op& op) {
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (plugin::is_absent(input.tensor)) return refuse(op, "an input is missing");
  }
  return check_elementwise<kTypes>(op);
}

template <auto kTypes, typename Fold, typename Finish = Unchanged>
KernelEntry variadic(const char* kind, Fold /*stateless*/, Finish /*stateless*/ = {}) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kTypes, call.input(0).element_type, [&]<typename T>() {
                  fold_inputs<T>(call, Fold(), Finish());
                  return plugin::ok();
                });
              },
          .check = check_variadic<kTypes>,
          .result_type = type_of_first_input};
}

Status run_clip(const Call& call) {
  return dispatch(kNumbers, call.input(0).element_type, [&]<typename T>() {
    const auto bound = [&](int input) {
      const auto elements =
          call.has_input(input) ? call.input_elements<T>(input) : std::span<const T>();
      return elements.empty() ? nullptr : elements.data();
    };
    const T* low = bound(1);
    const T* high = bound(2);
    map_unary<T, T>(call, [low, high](auto x) {
      // Comparisons are false for a NaN, so it passes.
      if (low != nullptr && x < static_cast<Compute<T>>(*low)) x = *low;
      if (high != nullptr && x > static_cast<Compute<T>>(*high)) x = *high;
      return x;
    });
    return plugin::ok();
  });
}

/// The bounds are scalars, if there.
Status check_clip(const sluice_op& op) {
  for (int i = 1; i < op.num_inputs; ++i) {
    const sluice_tensor& bound = op.inputs[i].tensor;
    if (!plugin::is_absent(bound) && (plugin::num_elements(bound) > 1 || bound.rank > 1)) {
      return refuse(op, "bounds must be scalars");
    }
  }
  const sluice_tensor& x = op.inputs[0].tensor;
  if (op.num_inputs > 3 || x.rank < op.outputs[0].tensor.rank) {
    return refuse(op, "the data does not have the output's shape");
  }
  return check_elementwise<kNumbers>(op);
}

Status run_where(const Call& call) {
  const auto condition = call.input_elements<Bool>(0);
  const Mover from_x(call.input(1), call.output(0));
  const Mover from_y(call.input(2), call.output(0));
  const std::array sources = {dims_of(call.input(0)), dims_of(call.input(1)),
                              dims_of(call.input(2))};
  for_each_broadcast(dims_of(call.output(0)), sources, [&](auto i, const auto& at) {
    if (condition[static_cast<std::size_t>(at[0])]) {
      from_x.copy(at[1], i);
    } else {
      from_y.copy(at[2], i);
    }
  });
  return plugin::ok();
}

Status check_where(const sluice_op& op) {
  Status status = check_type(op, 0, kBools);
  if (status.is_ok()) status = check_movable(op, 1);
  if (op.inputs[1].tensor.element_type != op.inputs[2].tensor.element_type) {
    return refuse(op, "X and Y have different element types");
  }
  return status.is_ok() ? check_broadcast(op) : status;
}

}  // namespace

std::vector<KernelEntry> elementwise_many_kernels() {
  return {
      {.kind = "Clip", .run = run_clip, .check = check_clip, .result_type = type_of_first_input},
      variadic<kNumbers>("Max", [](auto a, auto b) { return largest(a, b); }),
      variadic<kFloats>(
          "Mean", [](auto a, auto b) { return a + b; }, DividedByCount()),
      variadic<kNumbers>("Min", [](auto a, auto b) { return smallest(a, b); }),
      variadic<kFloats>("Sum", [](auto a, auto b) { return a + b; }),
      {.kind = "Where",
       .run = run_where,
       .check = check_where,
       .result_type = [](const sluice_op& op) { return op.inputs[1].tensor.element_type; },
       .num_required_inputs = 3},
  };
}

}  // namespace sluice::reference
