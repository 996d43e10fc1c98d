#include "exec/memory_scope.h"

#include <utility>

#include "base/process/memory_limit.h"

namespace sluice::exec {
namespace {

// Buffers are allocated deep inside steps, on the thread that runs the context. A scope per run
// cannot be forgotten by a new step, as a parameter could.
thread_local const std::shared_ptr<ByteBudget>* thread_budget = nullptr;

}  // namespace

const std::shared_ptr<ByteBudget>& process_memory() {
  static const auto kBudget = std::make_shared<ByteBudget>(usable_memory_bytes() / 4 * 3);
  return kBudget;
}

MemoryScope::MemoryScope(const std::shared_ptr<ByteBudget>& budget)
    : outer_(std::exchange(thread_budget, &budget)) {}

MemoryScope::~MemoryScope() { thread_budget = outer_; }

std::shared_ptr<ByteBudget> MemoryScope::budget() {
  return thread_budget == nullptr ? nullptr : *thread_budget;
}

std::shared_ptr<ByteBudget> MemoryScope::payer() {
  auto innermost = budget();
  return innermost == nullptr ? process_memory() : innermost;
}

}  // namespace sluice::exec
