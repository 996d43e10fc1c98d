#include "service/sequences/sequence_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "service/sequences/control_values.h"

namespace sluice::service {
namespace {

using terms::TensorSpec;
using Kind = SequenceLayout::Kind;

constexpr std::int64_t kMaxStateBytes = std::int64_t{1} << 28;
constexpr std::size_t kMaxShownBytes = 64;

std::string where(int line, std::string_view what, std::string_view name) {
  return fmt::format("config.pbtxt, line {}: {} \"{}\"", line, what,
                     valid_utf8(name.substr(0, kMaxShownBytes)));
}

Status check_element(const TensorSpec& spec, ir::ElementType declared) {
  if (declared == ir::ElementType::kUndefined || declared == spec.type.element())
    return ok_status();
  return invalid_argument("the model has {}, the configuration {}",
                          ir::element_type_name(spec.type.element()),
                          ir::element_type_name(declared));
}

/// Whether some output of this type is an input of that one.
bool may_follow(const ir::Type& input, const ir::Type& output) {
  if (input.element() != output.element()) return false;
  const ir::Shape* to = input.is_tensor() ? input.shape() : nullptr;
  const ir::Shape* from = output.is_tensor() ? output.shape() : nullptr;
  if (to == nullptr || from == nullptr) return true;
  return std::ranges::equal(*to, *from, [](const ir::Dim& a, const ir::Dim& b) {
    return !a.is_known() || !b.is_known() || a.value() == b.value();
  });
}

class Layouter {
 public:
  Layouter(const terms::DeclaredModel& declared, const terms::Signature& model)
      : declared_(declared),
        rules_(*declared.sequences),
        model_(model),
        has_rows_(declared.max_batch_size > 0) {}

  Result<SequenceLayout> lay_out() {
    layout_.inputs.resize(model_.inputs.size());
    layout_.outputs.resize(model_.outputs.size());
    for (const terms::SequenceControl& control : rules_.controls) {
      SLUICE_TRY(
          take_control(control).with_context(where(control.line, "control_input", control.input)));
    }
    for (const terms::SequenceState& state : rules_.states) {
      SLUICE_TRY(take_state(state).with_context(where(state.line, "state", state.input)));
    }
    take_client_inputs();
    take_client_outputs();
    layout_.client.has_fixed_inputs = model_.has_fixed_inputs;
    return std::move(layout_);
  }

 private:
  static Result<std::size_t> find(const std::vector<TensorSpec>& specs, std::string_view name,
                                  std::string_view what) {
    const auto spec = std::ranges::find(specs, name, &TensorSpec::name);
    if (spec == specs.end()) {
      std::string names;
      for (const TensorSpec& one : specs) names += (names.empty() ? "" : ", ") + one.name;
      return invalid_argument("the model has no such {}; it has {}", what, names);
    }
    return static_cast<std::size_t>(spec - specs.begin());
  }

  /// The input becomes one of the sequence.
  Result<const TensorSpec*> take_input(std::string_view name, SequenceLayout::Place place) {
    const std::size_t index = SLUICE_TRY(find(model_.inputs, name, "input"));
    if (layout_.inputs[index].kind != Kind::kClient) return invalid_argument("it is there twice");
    layout_.inputs[index] = place;
    return &model_.inputs[index];
  }

  Result<const TensorSpec*> take_output(std::string_view name) {
    const std::size_t index = SLUICE_TRY(find(model_.outputs, name, "output"));
    if (layout_.outputs[index].state) return invalid_argument("it is there twice");
    layout_.outputs[index].state = layout_.states.size();
    return &model_.outputs[index];
  }

  Status take_control(const terms::SequenceControl& control) {
    const TensorSpec& spec =
        *SLUICE_TRY(take_input(control.input, {Kind::kControl, layout_.controls.size()}));
    SLUICE_TRY(check_element(spec, control.element));
    SequenceLayout::Control made;
    made.declared = control;
    const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
    made.dims.assign(shape == nullptr ? (has_rows_ ? 2 : 1) : shape->size(), 1);
    for (std::size_t i = 0; shape != nullptr && i < shape->size(); ++i) {
      if (!(*shape)[i].is_known() || (*shape)[i].is(1)) continue;
      return invalid_argument("a control is one value, the model has {}", spec.type.to_string());
    }
    if (control.kind != terms::SequenceControl::Kind::kCorrelationId) {
      made.false_bytes = SLUICE_TRY(flag_bytes(control, false));
      made.true_bytes = SLUICE_TRY(flag_bytes(control, true));
    }
    layout_.controls.push_back(std::move(made));
    return ok_status();
  }

  Status take_state(const terms::SequenceState& state) {
    const TensorSpec& input =
        *SLUICE_TRY(take_input(state.input, {Kind::kState, layout_.states.size()}));
    const TensorSpec& output =
        *SLUICE_TRY(take_output(state.output)
                        .with_context(fmt::format(
                            "output \"{}\"",
                            valid_utf8(std::string_view(state.output).substr(0, kMaxShownBytes)))));
    SLUICE_TRY(check_element(input, state.element));
    if (!may_follow(input.type, output.type)) {
      return invalid_argument("the output is {}, the input {}", output.type.to_string(),
                              input.type.to_string());
    }
    layout_.states.push_back(SLUICE_TRY(first_value(state, input)));
    return ok_status();
  }

  /// Open dimensions are 1 for the first request, as Triton has them.
  Result<SequenceLayout::State> first_value(const terms::SequenceState& state,
                                            const TensorSpec& input) const {
    SequenceLayout::State made;
    terms::TensorView& view = made.initial;
    view.element = input.type.element();
    view.dims = SLUICE_TRY(first_dims(state, input));
    if (view.element == ir::ElementType::kString) return unimplemented("states have numbers");
    const auto size = terms::storage_bytes(view);
    if (!size || *size > kMaxStateBytes) {
      return make_error(Code::kResourceExhausted, "a first value of [{}] has more than {} bytes",
                        fmt::join(view.dims, ","), kMaxStateBytes);
    }
    made.owner = state.initial;
    if (made.owner.size() == 0) {
      made.owner = Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(*size)));
    }
    if (static_cast<std::int64_t>(made.owner.size()) != *size) {
      return invalid_argument("data_file has {} bytes, the first value of [{}] has {}",
                              made.owner.size(), fmt::join(view.dims, ","), *size);
    }
    view.size_bytes = *size;
    // Read only, as every input.
    view.data =
        const_cast<std::byte*>(made.owner.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return made;
  }

  Result<std::vector<std::int64_t>> first_dims(const terms::SequenceState& state,
                                               const TensorSpec& input) const {
    const ir::Shape* shape = input.type.is_tensor() ? input.type.shape() : nullptr;
    std::vector<std::int64_t> dims = state.initial_dims.empty() ? state.dims : state.initial_dims;
    if (dims.empty() && shape != nullptr) {
      for (const ir::Dim& dim : *shape) dims.push_back(dim.is_known() ? dim.value() : 1);
    } else if (has_rows_) {
      dims.insert(dims.begin(), 1);
    }
    for (std::int64_t& dim : dims) dim = dim == -1 ? 1 : dim;
    bool fits = shape == nullptr || shape->size() == dims.size();
    for (std::size_t i = 0; fits && shape != nullptr && i < dims.size(); ++i) {
      fits = !(*shape)[i].is_known() || (*shape)[i].value() == dims[i];
    }
    if (fits) return dims;
    return invalid_argument("the first value is [{}], the model has {}", fmt::join(dims, ","),
                            input.type.to_string());
  }

  void take_client_inputs() {
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
      if (layout_.inputs[i].kind != Kind::kClient) continue;
      layout_.inputs[i].index = layout_.client.inputs.size();
      layout_.client.inputs.push_back(model_.inputs[i]);
    }
  }

  /// Those that are no states, and states that the configuration lists, as with Triton.
  void take_client_outputs() {
    for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
      const bool is_listed =
          std::ranges::find(declared_.outputs, model_.outputs[i].name,
                            &terms::DeclaredTensor::name) != declared_.outputs.end();
      if (layout_.outputs[i].state && !is_listed) continue;
      layout_.outputs[i].client = layout_.client.outputs.size();
      layout_.client.outputs.push_back(model_.outputs[i]);
    }
  }

  const terms::DeclaredModel& declared_;
  const terms::SequenceRules& rules_;
  const terms::Signature& model_;
  const bool has_rows_;
  SequenceLayout layout_;
};

}  // namespace

Result<SequenceLayout> lay_out(const terms::DeclaredModel& declared,
                               const terms::Signature& model) {
  return Layouter(declared, model).lay_out();
}

}  // namespace sluice::service
