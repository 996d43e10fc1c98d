#include "passes/rewriter.h"

#include <algorithm>
#include <utility>

#include "passes/walk.h"

namespace sluice::passes {

/// What the operation reads may have lost its last reader, and what it writes may have none.
void Rewriter::note_unread(const ir::Operation& operation) {
  const auto note = [&](const std::vector<ir::OperandId>& ids) {
    std::ranges::copy_if(ids, std::back_inserter(maybe_unread_), &ir::OperandId::is_valid);
  };
  note(operation.reads());
  note(operation.outputs);
}

void Rewriter::forget(ir::OperationId at) {
  matcher_.uses_.remove(subgraph_, at);
  note_unread(subgraph_.operation(at));
}

void Rewriter::replace(ir::OperationId at, ir::Operation operation) {
  forget(at);
  subgraph_.operation(at) = std::move(operation);
  matcher_.uses_.add(subgraph_, at);
  note_unread(subgraph_.operation(at));
}

void Rewriter::insert(ir::OperationId before, ir::Operation operation) {
  const ir::OperationId id = subgraph_.insert_operation(before, std::move(operation));
  matcher_.uses_.add(subgraph_, id);
  note_unread(subgraph_.operation(id));
}

void Rewriter::remove(ir::OperationId at) {
  forget(at);
  subgraph_.remove_operation(at);
}

void Rewriter::sweep() {
  if (!std::exchange(is_swept_, true)) {
    passes::sweep(subgraph_);
    matcher_.uses_ = ir::UseIndex(subgraph_);
    maybe_unread_.clear();
  }
  while (!maybe_unread_.empty()) {
    const ir::OperandId id = maybe_unread_.back();
    maybe_unread_.pop_back();
    sweep_producer(id);
  }
}

void Rewriter::sweep_producer(ir::OperandId unread) {
  const ir::UseIndex& uses = matcher_.uses();
  const auto is_read = [&](ir::OperandId id) {
    return id.is_valid() && (uses.num_readers(id) > 0 || uses.is_output(id));
  };
  const ir::OperationId at = uses.producer(unread);
  if (!at.is_valid() || is_read(unread)) return;
  if (std::ranges::none_of(subgraph_.operation(at).outputs, is_read)) {
    remove(at);
  } else {
    drop_unread_outputs(subgraph_.operation(at), is_read);
  }
}

}  // namespace sluice::passes
