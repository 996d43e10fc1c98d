// Who pays for the buffers that a thread allocates.
#pragma once

#include <memory>

#include "base/byte_budget.h"

namespace sluice::exec {

/// Budget of all contexts of this process: three quarters of the memory that it may use.
const std::shared_ptr<ByteBudget>& process_memory();

/// Charges the buffers that this thread allocates to a budget until the scope ends. Scopes nest;
/// the innermost counts. A model can compute an output of any size from an input of a few bytes
/// (ConstantOfShape, a Loop that grows its value), so a run allocates in the scope of its context.
/// What a model or a context that is made in a scope holds is charged to the scope's budget, too,
/// as long as it lives.
class MemoryScope {
 public:
  /// `budget` outlives the scope.
  explicit MemoryScope(const std::shared_ptr<ByteBudget>& budget);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  /// Budget of the innermost scope of this thread; null outside of scopes.
  static std::shared_ptr<ByteBudget> budget();
  /// The same; outside of scopes process_memory.
  static std::shared_ptr<ByteBudget> payer();

 private:
  const std::shared_ptr<ByteBudget>* outer_;
};

}  // namespace sluice::exec
