#include "sandbox/function.h"

namespace sluice::sandbox {

std::int64_t cools_at_ns(const Function& function) {
  const std::int64_t keep_ns = function.options.keep_warm_ns;
  const bool is_idle = function.line.empty() && function.work == Function::Work::kNone;
  if (!function.model || !is_idle) return kNoDeadline;
  // --always-warm is the longest time; the sum must not overflow.
  return keep_ns > kNoDeadline - function.last_used_ns ? kNoDeadline
                                                       : function.last_used_ns + keep_ns;
}

}  // namespace sluice::sandbox
