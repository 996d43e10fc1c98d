#include "api/runtime/isolation.h"

#include "sluice/runtime.h"

namespace sluice::api {

Result<std::optional<terms::Isolation>> isolation_of(std::int32_t number) {
  switch (number) {
    case SLUICE_ISOLATION_DEFAULT: return std::optional<terms::Isolation>();
    case SLUICE_ISOLATION_STREAM: return std::optional(terms::Isolation::kStream);
    case SLUICE_ISOLATION_PROCESS: return std::optional(terms::Isolation::kProcess);
    default:
      return invalid_argument("isolation is {}; expected 0 (default), 1 (stream) or 2 (process)",
                              number);
  }
}

}  // namespace sluice::api
