// Entries for element-wise operators, made from a function of one element's values.
//
//   unary<kFloats>("Sqrt", [](auto x) { return std::sqrt(x); })
//   unary_with<kFloats>("LeakyRelu", [](Attributes attributes) {
//     return [alpha = attributes.get_float("alpha")](auto x) { return x < 0 ? alpha * x : x; };
//   })
//   binary<kNumbers>("Add", [](auto a, auto b) { return a + b; })
//   comparison<kNumbers>("Less", [](auto a, auto b) { return a < b; })
//
// The functions get elements as `Compute<T>` and may return anything that converts to it. They are
// generic lambdas without captures.
#pragma once

#include "reference/broadcast.h"
#include "reference/elements.h"
#include "reference/kernels.h"

namespace sluice::reference {

using plugin::Attributes;

/// Checks that all inputs have the same type, one of `types`, and shapes that broadcast to the
/// output's.
template <auto kTypes>
Status check_elementwise(const sluice_op& op);

/// All inputs broadcast to exactly the shape of output 0, as far as dimensions are known.
Status check_broadcast(const sluice_op& op);

/// `Relu: element type 8 is not supported`.
Status unsupported_type(const sluice_op& op, sluice_element_type type);

sluice_element_type type_of_first_input(const sluice_op& op);
sluice_element_type bool_type(const sluice_op& op);

template <typename In, typename Out, typename Function>
void map_unary(const Call& call, const Function& function) {
  const auto x = call.input_elements<In>(0);
  const auto y = call.output_elements<Out>(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<Compute<Out>>(function(static_cast<Compute<In>>(x[i])));
  }
}

template <typename In, typename Out, typename Function>
void map_binary(const Call& call, const Function& function) {
  const auto a = call.input_elements<In>(0);
  const auto b = call.input_elements<In>(1);
  const auto y = call.output_elements<Out>(0);
  const std::array sources = {plugin::dims_of(call.input(0)), plugin::dims_of(call.input(1))};
  for_each_broadcast(plugin::dims_of(call.output(0)), sources, [&](auto i, const auto& offsets) {
    const auto left = static_cast<Compute<In>>(a[static_cast<std::size_t>(offsets[0])]);
    const auto right = static_cast<Compute<In>>(b[static_cast<std::size_t>(offsets[1])]);
    y[static_cast<std::size_t>(i)] = static_cast<Compute<Out>>(function(left, right));
  });
}

/// As check_elementwise, for one input, whose elements are those of the output.
template <auto kTypes>
Status check_unary(const sluice_op& op) {
  if (op.num_inputs > 1) return refuse(op, "takes one input");
  return check_elementwise<kTypes>(op);
}

/// `make(attributes)` gives the function of one element.
template <auto kTypes, typename Make>
KernelEntry unary_with(const char* kind, Make /*stateless*/) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                const auto function = Make()(call.attributes());
                return dispatch(kTypes, call.input(0).element_type, [&]<typename T>() {
                  map_unary<T, T>(call, function);
                  return plugin::ok();
                });
              },
          .check = check_unary<kTypes>,
          .result_type = type_of_first_input};
}

template <auto kTypes, typename Function>
KernelEntry unary(const char* kind, Function /*stateless*/) {
  return unary_with<kTypes>(kind, [](const Attributes&) { return Function(); });
}

template <auto kTypes, typename Function>
KernelEntry binary(const char* kind, Function /*stateless*/) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kTypes, call.input(0).element_type, [&]<typename T>() {
                  map_binary<T, T>(call, Function());
                  return plugin::ok();
                });
              },
          .check = check_elementwise<kTypes>,
          .result_type = type_of_first_input,
          .num_required_inputs = 2};
}

/// Two inputs of one type, bools out.
template <auto kTypes, typename Function>
KernelEntry comparison(const char* kind, Function /*stateless*/) {
  return {.kind = kind,
          .run =
              [](const Call& call) {
                return dispatch(kTypes, call.input(0).element_type, [&]<typename T>() {
                  map_binary<T, Bool>(call, Function());
                  return plugin::ok();
                });
              },
          .check = check_elementwise<kTypes>,
          .result_type = bool_type,
          .num_required_inputs = 2};
}

template <auto kTypes>
Status check_elementwise(const sluice_op& op) {
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    const sluice_element_type other = input.tensor.element_type;
    if (other != type && other != plugin::kAbsent) return unsupported_type(op, other);
  }
  return contains(kTypes, type) ? check_broadcast(op) : unsupported_type(op, type);
}

}  // namespace sluice::reference
