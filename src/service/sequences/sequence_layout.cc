#include "service/sequences/sequence_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
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

class Layouter {
 public:
  Layouter(const terms::SequenceRules& rules, const terms::Signature& model, bool has_rows)
      : rules_(rules), model_(model), has_rows_(has_rows) {}

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
    take_rest(model_.inputs, layout_.inputs, layout_.client.inputs);
    take_rest(model_.outputs, layout_.outputs, layout_.client.outputs);
    layout_.client.has_fixed_inputs = model_.has_fixed_inputs;
    return std::move(layout_);
  }

 private:
  using Places = std::vector<SequenceLayout::Place>;

  /// The tensor of this name becomes one of the sequence.
  static Result<const TensorSpec*> take(const std::vector<TensorSpec>& specs, Places& places,
                                        std::string_view name, std::string_view what,
                                        SequenceLayout::Place place) {
    const auto spec = std::ranges::find(specs, name, &TensorSpec::name);
    if (spec == specs.end()) {
      std::string names;
      for (const TensorSpec& one : specs) names += (names.empty() ? "" : ", ") + one.name;
      return invalid_argument("the model has no such {}; it has {}", what, names);
    }
    auto& taken = places[static_cast<std::size_t>(spec - specs.begin())];
    if (taken.kind != Kind::kClient) return invalid_argument("it is there twice");
    taken = place;
    return &*spec;
  }

  Status take_control(const terms::SequenceControl& control) {
    const TensorSpec& spec = *SLUICE_TRY(take(model_.inputs, layout_.inputs, control.input, "input",
                                              {Kind::kControl, layout_.controls.size()}));
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
    const SequenceLayout::Place place = {Kind::kState, layout_.states.size()};
    const TensorSpec& input =
        *SLUICE_TRY(take(model_.inputs, layout_.inputs, state.input, "input", place));
    const TensorSpec& output =
        *SLUICE_TRY(take(model_.outputs, layout_.outputs, state.output, "output", place)
                        .with_context(fmt::format("output \"{}\"", state.output.substr(0, 64))));
    SLUICE_TRY(check_element(input, state.element));
    if (output.type.element() != input.type.element()) {
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

  static void take_rest(const std::vector<TensorSpec>& specs, Places& places,
                        std::vector<TensorSpec>& client) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (places[i].kind != Kind::kClient) continue;
      places[i].index = client.size();
      client.push_back(specs[i]);
    }
  }

  const terms::SequenceRules& rules_;
  const terms::Signature& model_;
  const bool has_rows_;
  SequenceLayout layout_;
};

}  // namespace

Result<SequenceLayout> lay_out(const terms::SequenceRules& rules, const terms::Signature& model,
                               bool has_rows) {
  return Layouter(rules, model, has_rows).lay_out();
}

}  // namespace sluice::service
