#include "backend/extensions/foreign_memory.h"

#include "backend/handle.h"
#include "sluice/extensions/foreign_memory.h"

namespace sluice::backend {

Status check_foreign_memory(const Group& group, const void* address, std::int64_t size_bytes) {
  const Backend& backend = group.backend();
  const auto* table = SLUICE_TRY(backend.find_table<sluice_foreign_memory>(SLUICE_FOREIGN_MEMORY));
  if (table == nullptr) {
    return make_error(Code::kFailedPrecondition,
                      "backend \"{}\" takes no memory of its devices that others allocated; give "
                      "tensors in memory of the host",
                      backend.name());
  }
  return call_plugin(backend.name(), table->check, backend.handle(), group.device(), address,
                     size_bytes);
}

}  // namespace sluice::backend
