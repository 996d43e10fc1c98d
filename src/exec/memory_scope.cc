#include "exec/memory_scope.h"

#include <unistd.h>

#include <limits>
#include <utility>

namespace sluice::exec {
namespace {

// Buffers are allocated deep inside steps, on the thread that runs the context. A scope per run
// cannot be forgotten by a new step, as a parameter could.
thread_local const std::shared_ptr<ByteBudget>* thread_budget = nullptr;

std::int64_t process_limit_bytes() {
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::numeric_limits<std::int64_t>::max();
  return pages / 4 * 3 * page_bytes;
}

}  // namespace

const std::shared_ptr<ByteBudget>& process_memory() {
  static const auto kBudget = std::make_shared<ByteBudget>(process_limit_bytes());
  return kBudget;
}

MemoryScope::MemoryScope(const std::shared_ptr<ByteBudget>& budget)
    : outer_(std::exchange(thread_budget, &budget)) {}

MemoryScope::~MemoryScope() { thread_budget = outer_; }

std::shared_ptr<ByteBudget> MemoryScope::budget() {
  return thread_budget == nullptr ? nullptr : *thread_budget;
}

}  // namespace sluice::exec
