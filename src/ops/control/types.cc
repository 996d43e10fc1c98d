#include "ops/control/types.h"

#include <algorithm>
#include <utility>

#include "ops/control/structure.h"

namespace sluice::ops {
namespace {

using Kind = ir::Type::Kind;

ir::Type join_tensors(InferenceContext& context, const ir::Type& a, const ir::Type& b) {
  if (a.element() != b.element()) {
    // An undefined element type: no item has been seen yet, so the other type counts.
    const bool is_open = a.element() == ir::ElementType::kUndefined;
    return ir::Type::tensor(is_open ? b.element() : a.element());
  }
  if (a.shape() == nullptr || b.shape() == nullptr || a.shape()->size() != b.shape()->size()) {
    return ir::Type::tensor(a.element());
  }
  ir::Shape shape = *a.shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!(shape[i] == (*b.shape())[i])) shape[i] = context.unknown_dim();
  }
  return ir::Type::tensor(a.element(), std::move(shape));
}

/// Whether every value of type `b` is one of type `a`, any symbol standing for any size.
bool covers(const ir::Type& a, const ir::Type& b) {
  if (b.kind() == Kind::kUnknown) return true;
  if (a.kind() == Kind::kOptional) {
    return covers(a.item(), b.kind() == Kind::kOptional ? b.item() : b);
  }
  if (a.kind() != b.kind()) return false;
  if (!a.is_tensor()) return covers(a.item(), b.item());
  if (a.element() != b.element()) return false;
  if (a.shape() == nullptr) return true;
  if (b.shape() == nullptr || a.shape()->size() != b.shape()->size()) return false;
  for (std::size_t i = 0; i < a.shape()->size(); ++i) {
    if ((*a.shape())[i].is_known() && !((*a.shape())[i] == (*b.shape())[i])) return false;
  }
  return true;
}

}  // namespace

ir::Type join_types(InferenceContext& context, const ir::Type& a, const ir::Type& b) {
  if (a == b || b.kind() == Kind::kUnknown) return a;
  if (a.kind() == Kind::kUnknown) return b;
  if (a.kind() == b.kind()) {
    if (a.is_tensor()) return join_tensors(context, a, b);
    const ir::Type item = join_types(context, a.item(), b.item());
    return a.kind() == Kind::kSequence ? ir::Type::sequence(item) : ir::Type::optional(item);
  }
  if (a.kind() == Kind::kOptional) return ir::Type::optional(join_types(context, a.item(), b));
  if (b.kind() == Kind::kOptional) return ir::Type::optional(join_types(context, a, b.item()));
  return {};
}

ir::Type with_own_dims(InferenceContext& context, const ir::Type& type) {
  if (!type.is_tensor() || type.shape() == nullptr) return type;
  ir::Shape shape = *type.shape();
  for (ir::Dim& dim : shape) {
    if (!dim.is_known()) dim = context.unknown_dim();
  }
  return type.with_shape(std::move(shape));
}

/// Only dimensions that differ open, each once: an open one covers every size. So each call that
/// returns true opens a dimension or drops the shape, and infer_iterations ends.
bool CarriedType::widen_shape(InferenceContext& context, const ir::Type& result) {
  if (type_.shape() == nullptr) return false;
  if (result.shape() == nullptr || result.shape()->size() != type_.shape()->size()) {
    type_ = type_.with_shape(std::nullopt);
    return true;
  }
  ir::Shape shape = *type_.shape();
  bool changed = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool is_open = std::find(open_.begin(), open_.end(), shape[i]) != open_.end();
    if (is_open || shape[i] == (*result.shape())[i]) continue;
    shape[i] = context.unknown_dim();
    open_.push_back(shape[i]);
    changed = true;
  }
  if (changed) type_ = type_.with_shape(std::move(shape));
  return changed;
}

bool CarriedType::widen(InferenceContext& context, const ir::Type& result) {
  if (type_.is_tensor() && result.is_tensor()) {
    if (type_.element() == ir::ElementType::kUndefined) {
      type_ = type_.with_element(result.element());
    }
    return widen_shape(context, result);
  }
  if (covers(type_, result)) return false;
  ir::Type joined = join_types(context, type_, result);
  if (joined.kind() == Kind::kUnknown) return false;  // checked at run time
  type_ = std::move(joined);
  return true;
}

Result<std::vector<ir::Type>> infer_iterations(InferenceContext& context,
                                               // Ends: a type only ever widens, and there are
                                               // finitely many steps.
                                               std::vector<ir::Type>& inputs, std::size_t first,
                                               std::size_t num_carried, std::size_t first_output) {
  std::vector<CarriedType> carried;
  for (std::size_t i = 0; i < num_carried; ++i) carried.emplace_back(inputs[first + i]);
  for (;;) {
    auto outputs = SLUICE_TRY(context.infer_subgraph("body", inputs));
    bool changed = false;
    for (std::size_t i = 0; i < num_carried; ++i) {
      changed = carried[i].widen(context, outputs[first_output + i]) || changed;
      inputs[first + i] = carried[i].type();
    }
    if (!changed) return outputs;
  }
}

void add_captures(const InferenceContext& context, std::vector<ir::Type>& types) {
  for (std::size_t i = num_own_inputs(context.operation()); i < context.num_inputs(); ++i) {
    types.push_back(context.input(i));
  }
}

}  // namespace sluice::ops
