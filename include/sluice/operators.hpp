// Operators of a program, in C++: a header-only layer over `sluice/operators.h`.
//
//   sluice::Operator scale;
//   scale.domain = "com.example";
//   scale.name = "Scale";
//   scale.run = [](const sluice::plugin::Call& call) -> std::optional<sluice::Error> {
//     const float by = call.attributes().get_float("by", 1);
//     std::ranges::transform(call.input_elements<float>(0), call.output_elements<float>(0).begin(),
//                            [&](float x) { return by * x; });
//     return std::nullopt;
//   };
//   if (auto error = sluice::register_operator(std::move(scale))) return fail(*error);
//
// Afterwards the process compiles and runs models with the operator. Functions report failures as
// values; an exception of theirs becomes INTERNAL, too. They are called by several threads at
// once and live as long as the process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/host_backend.hpp"
#include "sluice/operators.h"
#include "sluice/sluice.hpp"

namespace sluice {

/// What a shape function reads and writes. Valid during the call.
class OperatorTypes {
 public:
  explicit OperatorTypes(const sluice_operator_types& types) : types_(types) {}

  int num_inputs() const { return types_.num_inputs; }
  int num_outputs() const { return types_.num_outputs; }
  plugin::Attributes attributes() const {
    return plugin::Attributes({types_.attributes, static_cast<std::size_t>(types_.num_attributes)});
  }
  /// 0 for an input that is absent, or of a type that is not known yet.
  sluice_element_type element(int input) const {
    return input < types_.num_inputs ? types_.inputs[input].element_type : 0;
  }
  /// nullopt while the rank is not known. A dimension below 0 is not known yet: an output
  /// may repeat the number, but not compute with it.
  std::optional<std::span<const std::int64_t>> dims(int input) const {
    if (input >= types_.num_inputs || types_.inputs[input].rank < 0) return std::nullopt;
    const sluice_type& type = types_.inputs[input];
    return std::span<const std::int64_t>(type.dims, static_cast<std::size_t>(type.rank));
  }

  /// Requires: output < num_outputs(), at most SLUICE_OPERATOR_MAX_RANK dimensions.
  void set_output(int output, sluice_element_type element, std::span<const std::int64_t> dims) {
    sluice_type& type = types_.outputs[output];
    type.element_type = element;
    type.rank = static_cast<std::int32_t>(dims.size());
    std::ranges::copy(dims, type.dims);
  }
  /// Without dimensions: the rank is not known yet.
  void set_output(int output, sluice_element_type element) {
    types_.outputs[output].element_type = element;
    types_.outputs[output].rank = -1;
  }
  /// The type of an input.
  void set_output_like(int output, int input) {
    const auto known = dims(input);
    known ? set_output(output, element(input), *known) : set_output(output, element(input));
  }

 private:
  const sluice_operator_types& types_;
};

/// An operator: its signature, its shape function, its kernel.
struct Operator {
  std::string domain = {};
  std::string name = {};
  int version = 1;  ///< of the domain that it came with
  int min_inputs = 1;
  int max_inputs = 1;  ///< -1: any number
  int min_outputs = 1;
  int max_outputs = 1;
  bool has_effects = false;        ///< SLUICE_OPERATOR_HAS_EFFECTS
  bool is_data_dependent = false;  ///< SLUICE_OPERATOR_DATA_DEPENDENT; see Call::set_actual_dims
  /// Empty: each output has the type of input 0.
  std::function<std::optional<Error>(OperatorTypes& types)> infer = {};
  std::function<std::optional<Error>(const plugin::Call& call)> run = {};
};

namespace detail {
inline sluice_code report(const std::optional<Error>& error, sluice_message* message) {
  if (!error) return SLUICE_OK;
  plugin::write_message(message, error->message);
  return static_cast<sluice_code>(error->code);
}
inline sluice_code infer_operator(void* user_data, const sluice_operator_types* types,
                                  sluice_message* message) {
  OperatorTypes view(*types);
  return report(static_cast<const Operator*>(user_data)->infer(view), message);
}
inline sluice_code run_operator(void* user_data, const sluice_operator_call* call,
                                sluice_message* message) {
  const auto num_inputs = static_cast<std::size_t>(call->op->num_inputs);
  const auto num_outputs = static_cast<std::size_t>(call->op->num_outputs);
  const plugin::Call view(*call->op, {call->inputs, num_inputs}, {call->outputs, num_outputs},
                          {call->actual_dims, num_outputs}, call->texts);
  return report(static_cast<const Operator*>(user_data)->run(view), message);
}
/// In C; borrows `op`.
inline sluice_operator describe(Operator& op) {
  sluice_operator described = {};
  described.struct_size = sizeof(described);
  described.flags = (op.has_effects ? SLUICE_OPERATOR_HAS_EFFECTS : 0U) |
                    (op.is_data_dependent ? SLUICE_OPERATOR_DATA_DEPENDENT : 0U);
  described.domain = op.domain.c_str();
  described.name = op.name.c_str();
  described.version = op.version;
  described.min_inputs = op.min_inputs;
  described.max_inputs = op.max_inputs;
  described.min_outputs = op.min_outputs;
  described.max_outputs = op.max_outputs;
  if (op.infer) described.infer = infer_operator;
  if (op.run) described.run = run_operator;
  described.user_data = &op;
  return described;
}
}  // namespace detail

/// Registers an operator in this process, for the rest of its life. Fails: as
/// sluice_operator_register.
[[nodiscard]] inline std::optional<Error> register_operator(Operator given) {
  auto kept = std::make_unique<Operator>(std::move(given));
  const sluice_operator op = detail::describe(*kept);
  if (auto error = detail::check(sluice_operator_register(&op))) return error;
  kept.release();  // NOLINT(bugprone-unused-return-value): the library keeps it
  return std::nullopt;
}

/// Lets this process run the code of the module of operators with this SHA-256. Fails: as
/// sluice_operator_allow.
[[nodiscard]] inline std::optional<Error> allow_operators(const std::string& sha256) {
  return detail::check(sluice_operator_allow(sha256.c_str()));
}

/// The operators of a module, which lives as long as the process:
///
///   extern "C" SLUICE_PLUGIN_EXPORT const sluice_operator_module* sluice_operator_module_1() {
///     static sluice::OperatorModule module({scale()});
///     return module.table();
///   }
///
/// A module needs no library of Sluice.
class OperatorModule {
 public:
  explicit OperatorModule(std::vector<Operator> operators) : operators_(std::move(operators)) {
    described_.reserve(operators_.size());  // `listed_` has addresses
    for (Operator& op : operators_) {
      listed_.push_back(&described_.emplace_back(detail::describe(op)));
    }
    table_ = {sizeof(table_), 0, listed_.data(), listed_.size()};
  }
  OperatorModule(const OperatorModule&) = delete;
  OperatorModule& operator=(const OperatorModule&) = delete;

  const sluice_operator_module* table() const { return &table_; }

 private:
  std::vector<Operator> operators_;
  std::vector<sluice_operator> described_;
  std::vector<const sluice_operator*> listed_;
  sluice_operator_module table_ = {};
};

}  // namespace sluice
