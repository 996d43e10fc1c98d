#include "sluice/tensors/value.h"

namespace sluice::tool {

terms::TensorView view_of(const ir::Constant& constant) {
  return {const_cast<std::byte*>(constant.data.data()),  // NOLINT: inputs are only read
          static_cast<std::int64_t>(constant.data.size()), constant.type.element(),
          *constant.type.static_dims()};
}

ir::Constant copy_of(const terms::TensorView& view) {
  const auto* bytes = static_cast<const std::byte*>(view.data);
  return {terms::type_of(view), Bytes::own(std::vector<std::byte>(bytes, bytes + view.size_bytes))};
}

Result<exec::Value> as_exec_value(const Value& value) {
  exec::Value given;
  if (value.tensor) given.tensor = SLUICE_TRY(exec::copy_tensor(view_of(*value.tensor)));
  if (!value.sequence) return given;
  given.sequence = std::make_shared<exec::Sequence>();
  for (const ir::Constant& item : *value.sequence) {
    given.sequence->element = item.type.element();
    given.sequence->items.push_back(SLUICE_TRY(exec::copy_tensor(view_of(item))));
  }
  return given;
}

}  // namespace sluice::tool
