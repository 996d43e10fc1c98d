#include "repository/scheduling/sequences.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text/number.h"
#include "repository/text_format/field.h"

namespace sluice::repository {
namespace {

using terms::SequenceControl;
using terms::SequenceState;
using Ignore = std::function<void(const TextField&)>;

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostDelayUs = 3'600'000'000;          // an hour
constexpr std::int64_t kMostIdleUs = 30 * 24 * kMostDelayUs;  // a month
constexpr std::size_t kMaxTensors = 256;                      // controls, and states

/// A value of int32_false_true and its like.
Result<double> value_of(const TextField& field) {
  if (field.name == "bool_false_true") return SLUICE_TRY(bool_of(field)) ? 1.0 : 0.0;
  const auto number = to_number<double>(field.value);
  if (!number || !std::isfinite(*number) || field.is_text || field.is_message) {
    return fail(field, Code::kInvalidArgument, "\"{}\" is no number", shown(field.value));
  }
  const double value = *number;
  if (field.name == "int32_false_true" &&
      (std::trunc(value) != value || value < std::numeric_limits<std::int32_t>::min() ||
       value > std::numeric_limits<std::int32_t>::max())) {
    return fail(field, Code::kInvalidArgument, "\"{}\" is no INT32", shown(field.value));
  }
  if (std::abs(value) > std::numeric_limits<float>::max()) {
    return fail(field, Code::kInvalidArgument, "\"{}\" is no FP32", shown(field.value));
  }
  return value;
}

Result<SequenceControl::Kind> kind_of(const TextField& field) {
  using Kind = SequenceControl::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 4> kKinds = {
      {{"CONTROL_SEQUENCE_START", Kind::kStart},
       {"CONTROL_SEQUENCE_READY", Kind::kReady},
       {"CONTROL_SEQUENCE_END", Kind::kEnd},
       {"CONTROL_SEQUENCE_CORRID", Kind::kCorrelationId}}};
  for (const auto& [name, kind] : kKinds) {
    if (field.value == name) return kind;
  }
  return fail(field, Code::kInvalidArgument, "\"{}\" is no control such as {}", shown(field.value),
              kKinds.front().first);
}

/// Whether a flag or a correlation id has this type.
bool may_have(SequenceControl::Kind kind, ir::ElementType element) {
  using ir::ElementType;
  if (kind != SequenceControl::Kind::kCorrelationId) {
    return element == ElementType::kI32 || element == ElementType::kF32 ||
           element == ElementType::kBool;
  }
  return element == ElementType::kU64 || element == ElementType::kI64 ||
         element == ElementType::kU32 || element == ElementType::kI32 ||
         element == ElementType::kString;
}

/// The message Control.
Status read_kind(const TextField& from, SequenceControl& control, const Ignore& ignore) {
  std::array<double, 2> values = {};
  std::size_t num_values = 0;
  std::string_view list;
  for (const TextField& field : from.fields) {
    if (field.name == "kind") {
      control.kind = SLUICE_TRY(kind_of(field));
    } else if (field.name == "data_type") {
      control.element = SLUICE_TRY(type_of(field));
    } else if (field.name == "int32_false_true" || field.name == "fp32_false_true" ||
               field.name == "bool_false_true") {
      if (num_values > 0 && field.name != list) {
        return fail(field, Code::kInvalidArgument, "the control has {}, too", list);
      }
      list = field.name;
      if (num_values == values.size()) {
        return fail(field, Code::kInvalidArgument, "it has two values, of false and of true");
      }
      values[num_values++] = SLUICE_TRY(value_of(field));
      control.element = field.name.starts_with("int32")  ? ir::ElementType::kI32
                        : field.name.starts_with("fp32") ? ir::ElementType::kF32
                                                         : ir::ElementType::kBool;
    } else {
      ignore(field);
    }
  }
  const bool is_flag = control.kind != SequenceControl::Kind::kCorrelationId;
  if (is_flag != (num_values == values.size()) || !may_have(control.kind, control.element)) {
    return fail(from, Code::kInvalidArgument, "{} is missing, or of another type",
                is_flag ? "int32_false_true, fp32_false_true or bool_false_true" : "data_type");
  }
  control.false_value = values[0];
  control.true_value = values[1];
  return ok_status();
}

/// An input may have several controls in Triton's schema, and has one in its server.
Result<SequenceControl> read_control(const TextField& from, const Ignore& ignore) {
  SequenceControl control;
  control.line = from.line;
  int num_kinds = 0;
  for (const TextField& field : from.fields) {
    if (field.name == "name") {
      control.input = SLUICE_TRY(text_of(field));
    } else if (field.name == "control") {
      if (++num_kinds > 1) return fail(field, Code::kInvalidArgument, "an input has one control");
      SLUICE_TRY(read_kind(field, control, ignore));
    } else {
      ignore(field);
    }
  }
  if (num_kinds == 0) return fail(from, Code::kInvalidArgument, "the control is missing");
  return control;
}

Status read_initial(const TextField& from, SequenceState& state, const Ignore& ignore) {
  bool has_data = false;
  for (const TextField& field : from.fields) {
    if (field.name == "dims") {
      state.initial_dims.push_back(SLUICE_TRY(int_of(field, 0, kMostNumber)));
    } else if (field.name == "zero_data") {
      has_data = SLUICE_TRY(bool_of(field));
    } else if (field.name == "data_file") {
      state.data_file = SLUICE_TRY(text_of(field));
      has_data = !state.data_file.empty();
    } else if (field.name == "data_type") {
      if (SLUICE_TRY(type_of(field)) != state.element) {
        return fail(field, Code::kInvalidArgument, "it differs from the state's");
      }
    } else if (field.name != "name") {
      ignore(field);
    }
  }
  if (has_data) return ok_status();
  return fail(from, Code::kInvalidArgument, "zero_data or data_file is missing");
}

Result<SequenceState> read_state(const TextField& from, const Ignore& ignore) {
  SequenceState state;
  state.line = from.line;
  const TextField* initial = nullptr;
  for (const TextField& field : from.fields) {
    if (field.name == "input_name") {
      state.input = SLUICE_TRY(text_of(field));
    } else if (field.name == "output_name") {
      state.output = SLUICE_TRY(text_of(field));
    } else if (field.name == "data_type") {
      state.element = SLUICE_TRY(type_of(field));
    } else if (field.name == "dims") {
      state.dims.push_back(SLUICE_TRY(int_of(field, -1, kMostNumber)));
    } else if (field.name == "initial_state") {
      if (initial != nullptr) return fail(field, Code::kInvalidArgument, "a state has one");
      initial = &field;
    } else {
      ignore(field);  // where the model writes it is no matter of the configuration here
    }
  }
  // It is compared with the state's type, which may stand behind it.
  if (initial != nullptr) SLUICE_TRY(read_initial(*initial, state, ignore));
  return state;
}

Status read_strategy(const TextField& from, SequenceBatching& to, const Ignore& ignore) {
  to.rules.is_oldest = from.name == "oldest";
  for (const TextField& field : from.fields) {
    if (field.name == "max_queue_delay_microseconds") {
      to.max_delay_us = SLUICE_TRY(int_of(field, 0, kMostDelayUs));
    } else if (field.name == "max_candidate_sequences") {
      to.rules.max_candidates = SLUICE_TRY(int_of(field, 0, std::numeric_limits<int>::max()));
    } else {
      ignore(field);
    }
  }
  return ok_status();
}

Status check_room(const TextField& field, std::size_t count) {
  if (count < kMaxTensors) return ok_status();
  return fail(field, Code::kInvalidArgument, "more than {} of them", kMaxTensors);
}

}  // namespace

Result<SequenceBatching> read_sequences(const TextField& from, const Ignore& ignore) {
  SequenceBatching all;
  for (const TextField& field : from.fields) {
    if (field.name == "max_sequence_idle_microseconds") {
      const auto idle_us = SLUICE_TRY(int_of(field, 0, kMostIdleUs));
      if (idle_us > 0) all.rules.max_idle_us = idle_us;  // 0: the default, as in Triton
    } else if (field.name == "control_input") {
      SLUICE_TRY(check_room(field, all.rules.controls.size()));
      all.rules.controls.push_back(SLUICE_TRY(read_control(field, ignore)));
    } else if (field.name == "state") {
      SLUICE_TRY(check_room(field, all.rules.states.size()));
      all.rules.states.push_back(SLUICE_TRY(read_state(field, ignore)));
    } else if (field.name == "direct" || field.name == "oldest") {
      SLUICE_TRY(read_strategy(field, all, ignore));
    } else if (field.name == "iterative_sequence") {
      if (SLUICE_TRY(bool_of(field))) return unserved(field, "a request has one answer");
    } else {
      ignore(field);
    }
  }
  return all;
}

}  // namespace sluice::repository
