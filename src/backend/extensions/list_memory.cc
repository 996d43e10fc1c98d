#include "backend/extensions/list_memory.h"

namespace sluice::backend {

Result<std::optional<std::int64_t>> held_bytes(const Backend& backend,
                                               const sluice_command_list* list) {
  const auto* table = static_cast<const sluice_list_memory*>(
      SLUICE_TRY(backend.find_extension(SLUICE_LIST_MEMORY)));
  // A plug-in built against an older header has a shorter table.
  if (table == nullptr || table->struct_size < sizeof(sluice_list_memory)) {
    return std::optional<std::int64_t>();
  }
  const std::int64_t bytes = table->held_bytes(list);
  if (bytes >= 0) return std::optional(bytes);
  return internal_error("backend \"{}\" says that a command list holds {} bytes", backend.name(),
                        bytes);
}

Result<const sluice_list_exchange*> find_exchange(const Backend& backend) {
  const auto* table = static_cast<const sluice_list_exchange*>(
      SLUICE_TRY(backend.find_extension(SLUICE_LIST_EXCHANGE)));
  const bool is_whole = table != nullptr && table->struct_size >= sizeof(sluice_list_exchange);
  return is_whole ? table : nullptr;
}

}  // namespace sluice::backend
