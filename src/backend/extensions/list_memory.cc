#include "backend/extensions/list_memory.h"

namespace sluice::backend {

Result<std::optional<std::int64_t>> held_bytes(const Backend& backend,
                                               const sluice_command_list* list) {
  const auto* table = SLUICE_TRY(backend.find_table<sluice_list_memory>(SLUICE_LIST_MEMORY));
  if (table == nullptr) return std::optional<std::int64_t>();
  const std::int64_t bytes = table->held_bytes(list);
  if (bytes >= 0) return std::optional(bytes);
  return internal_error("backend \"{}\" says that a command list holds {} bytes", backend.name(),
                        bytes);
}

Result<const sluice_list_exchange*> find_exchange(const Backend& backend) {
  return backend.find_table<sluice_list_exchange>(SLUICE_LIST_EXCHANGE);
}

}  // namespace sluice::backend
