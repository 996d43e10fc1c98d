#include "sandbox/function.h"

namespace sluice::sandbox {

std::int64_t cools_at_ns(const Function& function) {
  const std::int64_t keep_ns = function.options.keep_warm_ns;
  if (!function.model || !function.line.empty()) return kNoDeadline;
  // --always-warm is the longest time; the sum must not overflow.
  return keep_ns > kNoDeadline - function.last_used_ns ? kNoDeadline
                                                       : function.last_used_ns + keep_ns;
}

}  // namespace sluice::sandbox
