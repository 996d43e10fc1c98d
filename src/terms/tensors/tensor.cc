#include "terms/tensors/tensor.h"

#include "base/checked.h"

namespace sluice::terms {

ir::Type type_of(const TensorView& view) {
  return ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end()));
}

std::optional<std::int64_t> storage_bytes(const TensorView& view) {
  const auto elements = checked_product(view.dims);
  return elements ? ir::storage_bytes(view.element, *elements) : std::nullopt;
}

}  // namespace sluice::terms
