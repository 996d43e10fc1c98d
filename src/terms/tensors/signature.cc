#include "terms/tensors/signature.h"

#include <fmt/format.h>

namespace sluice::terms {

std::string fixed_input_hint(const Signature& signature, std::string_view name) {
  if (!signature.has_fixed_inputs) return "";
  return fmt::format(
      "; initializers that its file lists as inputs are constants: compile with --overridable {} "
      "to "
      "give such an input",
      name);
}

std::optional<TensorView> default_of(const TensorSpec& spec) {
  if (spec.default_value == nullptr) return std::nullopt;
  const ir::Constant& constant = *spec.default_value;
  const std::optional<std::vector<std::int64_t>> dims = constant.type.static_dims();
  if (!dims) return std::nullopt;
  // Read only, as Context::set_input says.
  auto* data = const_cast<std::byte*>(constant.data.data());  // NOLINT
  return TensorView{data, static_cast<std::int64_t>(constant.data.size()), constant.type.element(),
                    *dims};
}

}  // namespace sluice::terms
