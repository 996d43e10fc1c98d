#include "backend/extensions/input_alignment.h"

#include <bit>

namespace sluice::backend {

Result<std::int64_t> input_alignment(const Backend& backend) {
  const auto* table =
      SLUICE_TRY(backend.find_table<sluice_input_alignment>(SLUICE_INPUT_ALIGNMENT));
  if (table == nullptr) return kAlignment;
  if (!std::has_single_bit(table->alignment_bytes) || table->alignment_bytes > kAlignment) {
    return internal_error(
        "backend \"{}\" takes inputs aligned to {} bytes, which is no power of "
        "two up to {}",
        backend.name(), table->alignment_bytes, kAlignment);
  }
  return std::int64_t{table->alignment_bytes};
}

}  // namespace sluice::backend
