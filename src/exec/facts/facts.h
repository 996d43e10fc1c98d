// What is known of a subgraph's operands before and after a range of steps.
#pragma once

#include <memory>
#include <vector>

#include "base/containers/shared_table.h"
#include "ops/inference.h"

namespace sluice::exec {

/// Facts by operand. Plans of similar shapes share them: facts that are the same object are equal.
class Facts {
 public:
  Facts() = default;
  explicit Facts(std::size_t num_operands) : table_(num_operands) {}

  std::size_t size() const { return table_.size(); }
  /// Facts without a type for an absent or unknown operand.
  const ops::OperandFacts& of(ir::OperandId id) const {
    const bool is_known = id.is_valid() && table_[id.index()] != nullptr;
    return is_known ? *table_[id.index()] : none();
  }
  const ir::Type& type_of(ir::OperandId id) const { return of(id).type; }

  /// Keeps the object of `similar`, if it is given and equal. Returns whether it did.
  bool set(ir::OperandId id, ops::OperandFacts facts, const Facts* similar = nullptr);
  void take_if_equal(ir::OperandId id, const Facts& from);
  void take(ir::OperandId id, const Facts& from) {
    table_.set(id.index(), from.table_[id.index()]);
  }
  /// Whether both have the same object. Equal facts in two objects count as different.
  bool is_same(ir::OperandId id, const Facts& other) const {
    return !id.is_valid() || table_[id.index()] == other.table_[id.index()];
  }

  /// As ops::input_facts.
  std::vector<const ops::OperandFacts*> inputs_of(const ir::Operation& operation) const;

  /// Before other threads copy it.
  void freeze() { table_.freeze(); }

  std::size_t bytes_beside(const Facts& other) const { return table_.bytes_beside(other.table_); }

 private:
  static const ops::OperandFacts& none();

  SharedTable<std::shared_ptr<const ops::OperandFacts>> table_;
};

}  // namespace sluice::exec
