#include "terms/tensors/tensor.h"

#include <fmt/ranges.h>

#include "base/checked.h"
#include "terms/runtime_code.h"

namespace sluice::terms {

ir::Type type_of(const TensorView& view) {
  return ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end()));
}

std::optional<std::int64_t> storage_bytes(const TensorView& view) {
  const auto elements = checked_product(view.dims);
  return elements ? ir::storage_bytes(view.element, *elements) : std::nullopt;
}

Status check_dims(std::span<const std::int64_t> dims) {
  constexpr std::size_t kMaxDimensions = 64;
  if (dims.size() > kMaxDimensions) {
    return runtime_error(RuntimeCode::kBadInput, "{} dimensions, at most {} are taken", dims.size(),
                         kMaxDimensions);
  }
  if (checked_product(dims)) return ok_status();
  return runtime_error(RuntimeCode::kBadInput, "its shape is negative or too large");
}

Status check_size(const TensorView& view) {
  SLUICE_TRY(check_dims(view.dims));
  if (view.element == ir::ElementType::kString) return ok_status();
  const auto size = storage_bytes(view);
  if (size && *size == view.size_bytes) return ok_status();
  return runtime_error(RuntimeCode::kBadInput, "{}[{}] has {} bytes, {} came",
                       ir::element_type_name(view.element), fmt::join(view.dims, ","),
                       size.value_or(-1), view.size_bytes);
}

}  // namespace sluice::terms
