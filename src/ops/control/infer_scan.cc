#include <utility>

#include "ops/control/infer.h"
#include "ops/control/structure.h"
#include "ops/control/types.h"

namespace sluice::ops {
namespace {

/// Types of the body follow from those of the operation, and back:
///
///     states          as they are, without the batch in version 8
///     scan inputs     without the scanned axis, and without the batch
///     scan outputs    of the body's, with the axis and the batch put back
///
/// A state may widen from one iteration to the next (infer_iterations).
class ScanInference {
 public:
  explicit ScanInference(InferenceContext& context)
      : context_(context), operands_(scan_operands(*context.graph(), context.operation())) {}

  Status run() {
    std::vector<ir::Type> inputs;
    for (std::size_t i = 0; i < operands_.num_states; ++i) {
      inputs.push_back(
          without_axis(context_.input(operands_.first_state + i), 0, operands_.is_batched));
    }
    for (std::size_t i = 0; i < operands_.num_scan_inputs; ++i) {
      inputs.push_back(SLUICE_TRY(scanned(i)));
    }
    add_captures(context_, inputs);
    const auto outputs = SLUICE_TRY(infer_iterations(context_, inputs, 0, operands_.num_states, 0));
    for (std::size_t i = 0; i < operands_.num_states; ++i) {
      const ir::Type result =
          operands_.is_batched ? with_axes(outputs[i], 0, {batch_}) : outputs[i];
      context_.set_output(i,
                          join_types(context_, context_.input(operands_.first_state + i), result));
    }
    for (std::size_t i = 0; i < operands_.num_scan_outputs; ++i) {
      SLUICE_TRY(set_scan_output(i, outputs[operands_.num_states + i]));
    }
    return ok_status();
  }

 private:
  std::int64_t axis_attribute(std::string_view name, std::size_t index) const {
    const auto axes = context_.ints_attribute(name);
    return index < axes.size() ? axes[index] : 0;
  }

  static ir::Type without_axis(const ir::Type& type, std::size_t axis, bool drops) {
    if (!drops || !type.is_tensor() || type.shape() == nullptr || type.shape()->empty()) {
      return type;
    }
    ir::Shape shape = *type.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return type.with_shape(std::move(shape));
  }

  ir::Type with_axes(const ir::Type& type, std::size_t axis, const ir::Shape& added) const {
    if (!type.is_tensor() || type.shape() == nullptr) return type;
    ir::Shape shape = *type.shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), added.begin(), added.end());
    return with_own_dims_but(type.with_shape(std::move(shape)), axis, added.size());
  }

  /// Symbols created inside the body have no meaning outside, so they become unknown.
  ir::Type with_own_dims_but(const ir::Type& type, std::size_t first, std::size_t count) const {
    ir::Shape shape = *type.shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool is_ours = i >= first && i < first + count;
      if (!is_ours && !shape[i].is_known()) shape[i] = context_.unknown_dim();
    }
    return type.with_shape(std::move(shape));
  }

  Result<ir::Type> scanned(std::size_t index) {
    const ir::Type& type = context_.input(operands_.first_state + operands_.num_states + index);
    if (!type.is_tensor()) return context_.error("scan input {} must be a tensor", index);
    if (type.shape() == nullptr) return type;
    if (operands_.is_batched) {
      if (type.shape()->size() < 2) return context_.error("scan input {} has no batch", index);
      batch_ = (*type.shape())[0];
      length_ = (*type.shape())[1];
      return without_axis(without_axis(type, 0, true), 0, true);
    }
    const auto axis =
        normalize_axis(axis_attribute("scan_input_axes", index), type.shape()->size());
    if (!axis.is_ok()) return context_.error("scan input {}: {}", index, axis.status().message());
    length_ = (*type.shape())[static_cast<std::size_t>(*axis)];
    return without_axis(type, static_cast<std::size_t>(*axis), true);
  }

  Status set_scan_output(std::size_t index, const ir::Type& item) {
    const std::size_t output = operands_.num_states + index;
    if (!item.is_tensor()) return context_.error("scan output {} must be a tensor", index);
    if (item.shape() == nullptr) {
      context_.set_output(output, ir::Type::tensor(item.element()));
      return ok_status();
    }
    if (operands_.is_batched) {
      context_.set_output(output, with_axes(item, 0, {batch_, length_}));
      return ok_status();
    }
    const auto axis =
        normalize_axis(axis_attribute("scan_output_axes", index), item.shape()->size() + 1);
    if (!axis.is_ok()) return context_.error("scan output {}: {}", index, axis.status().message());
    context_.set_output(output, with_axes(item, static_cast<std::size_t>(*axis), {length_}));
    return ok_status();
  }

  InferenceContext& context_;
  ScanOperands operands_;
  // What the scanned inputs say; unknown where no shape is.
  ir::Dim length_ = context_.unknown_dim();
  ir::Dim batch_ = context_.unknown_dim();
};

}  // namespace

Status infer_scan(InferenceContext& context) {
  if (context.graph() == nullptr) return context.error("its body cannot be inferred here");
  SLUICE_TRY(check_structure(*context.graph(), context.operation()));
  return ScanInference(context).run();
}

}  // namespace sluice::ops
