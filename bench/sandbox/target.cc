#include "target.h"

namespace sluice::bench {

std::vector<std::int64_t> dims_of(const terms::TensorSpec& spec) {
  std::vector<std::int64_t> dims;
  if (!spec.type.shape()) return dims;
  for (const ir::Dim& dim : *spec.type.shape()) dims.push_back(dim.is_known() ? dim.value() : 1);
  return dims;
}

std::int64_t bytes_of(const terms::TensorSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims_of(spec)) count *= dim;
  return ir::storage_bytes(spec.type.element(), count).value_or(0);
}

}  // namespace sluice::bench
