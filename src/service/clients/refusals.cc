#include "service/clients/refusals.h"

#include <atomic>

namespace sluice::service {
namespace {

std::atomic<std::int64_t>& refused() {
  static std::atomic<std::int64_t> count = 0;
  return count;
}

}  // namespace

void count_refused_connection() { refused().fetch_add(1, std::memory_order_relaxed); }

std::int64_t num_refused_connections() { return refused().load(std::memory_order_relaxed); }

}  // namespace sluice::service
