// The graph: subgraphs of operations and operands.
//
// Subgraph 0 is the main one; control-flow operations name others by SubgraphId attributes. A
// subgraph is self-contained: what a body captures from outside is an extra input of it, passed as
// an extra input of the control-flow operation (after the ones its schema names).
//
// Ids stay valid until `compact()`. Operands and operations are never moved by insertion order:
// `order()` is the execution order. Not thread-safe while being changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "ir/attribute.h"
#include "ir/type.h"

namespace sluice::ir {

struct OperandTag;
struct OperationTag;
using OperandId = Id<OperandTag>;
using OperationId = Id<OperationTag>;

/// An edge: written by at most one operation, read by many.
struct Operand {
  std::string name;  ///< as in the source model, unique within a subgraph; may be empty
  Type type;
  std::optional<Constant> constant;  ///< set for weights; such an operand has no producer
};

/// The element-wise body of a fused operation, applied to the operation's first output before the
/// store. Input 0 of the subgraph is the operation's own result; the others are
/// `inputs`, broadcast to the result's shape. The subgraph has one output. For
/// `sluice::Elementwise`, which computes nothing of its own, the subgraph's inputs are `inputs`.
struct Body {
  SubgraphId subgraph;
  std::vector<OperandId> inputs;
};

/// A node. Absent optional inputs and outputs are invalid OperandIds.
struct Operation {
  std::string domain;  ///< "" for ONNX's default domain, "sluice" for our own
  std::string kind;    ///< operator name, e.g. "Conv"
  int version = 1;     ///< since-version of the schema this operation follows
  std::string name;    ///< node name in the source model; may be empty
  std::vector<OperandId> inputs;
  std::vector<OperandId> outputs;
  Attributes attributes;
  std::optional<Body> body;

  bool is(std::string_view wanted_kind, std::string_view wanted_domain = "") const {
    return kind == wanted_kind && domain == wanted_domain;
  }
  /// Invalid id if absent or past the end.
  OperandId input(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : OperandId();
  }
  OperandId output(std::size_t index) const {
    return index < outputs.size() ? outputs[index] : OperandId();
  }
  /// "node \"conv1\" (Conv)": for messages.
  std::string describe() const;
};

class Subgraph {
 public:
  std::string name;
  std::vector<OperandId> inputs;   ///< in signature order
  std::vector<OperandId> outputs;  ///< in signature order; may repeat or name an input or constant

  OperandId add_operand(Operand operand);
  /// Appends at the end of the order.
  OperationId add_operation(Operation operation);
  /// Inserts before `position` in the order.
  OperationId insert_operation(OperationId position, Operation operation);
  /// Removes it from the order; its outputs keep existing without a producer.
  void remove_operation(OperationId id);

  OperandId add_constant(std::string operand_name, Constant constant);

  Operand& operand(OperandId id) { return operands_[id.index()]; }
  const Operand& operand(OperandId id) const { return operands_[id.index()]; }
  Operation& operation(OperationId id) { return operations_[id.index()]; }
  const Operation& operation(OperationId id) const { return operations_[id.index()]; }

  std::size_t num_operands() const { return operands_.size(); }
  std::size_t num_operations() const { return order_.size(); }
  /// Execution order. Requires for a valid graph: every operand is produced before it is read.
  std::span<const OperationId> order() const { return order_; }
  /// Requires: a permutation of order().
  void set_order(std::vector<OperationId> order) { order_ = std::move(order); }

  bool is_constant(OperandId id) const {
    return id.is_valid() && operands_[id.index()].constant.has_value();
  }
  /// Null if not a constant (or absent).
  const Constant* find_constant(OperandId id) const {
    return is_constant(id) ? &*operands_[id.index()].constant : nullptr;
  }

  /// Makes every reader of `from` (operations, bodies, subgraph outputs) read `to`.
  void replace_uses(OperandId from, OperandId to);

  /// Drops operands that nothing names and removed operations; renumbers all ids.
  void compact();

 private:
  std::vector<Operand> operands_;
  std::vector<Operation> operations_;  // with removed ones, until compact()
  std::vector<OperationId> order_;
};

/// Who writes and reads each operand of a subgraph, as it is now: rebuild after changes.
class UseIndex {
 public:
  explicit UseIndex(const Subgraph& subgraph);

  /// Invalid for inputs and constants.
  OperationId producer(OperandId id) const { return producers_[id.index()]; }
  /// In execution order; an operation that reads an operand twice stands twice. Body inputs count.
  std::span<const OperationId> readers(OperandId id) const { return readers_[id.index()]; }
  bool is_output(OperandId id) const { return is_output_[id.index()]; }
  /// Read by exactly one operation, once, and no output of the subgraph.
  bool has_single_use(OperandId id) const { return readers(id).size() == 1 && !is_output(id); }

 private:
  std::vector<OperationId> producers_;
  std::vector<std::vector<OperationId>> readers_;
  std::vector<bool> is_output_;
};

/// Owns the subgraphs. Movable; copying is deep except for constants' bytes, which are shared.
class Graph {
 public:
  Graph() { add_subgraph("main"); }

  SubgraphId add_subgraph(std::string name);
  Subgraph& main() { return subgraphs_.front(); }
  const Subgraph& main() const { return subgraphs_.front(); }
  Subgraph& subgraph(SubgraphId id) { return subgraphs_[id.index()]; }
  const Subgraph& subgraph(SubgraphId id) const { return subgraphs_[id.index()]; }
  std::size_t num_subgraphs() const { return subgraphs_.size(); }

  /// Drops subgraphs that nothing reachable from the main one names, compacts the others, and
  /// renumbers all ids. Requires: subgraph ids in range.
  void compact();

  /// Facts about the source ("producer", "onnx_opset", ...), kept through compilation.
  std::map<std::string, std::string> metadata;

 private:
  std::vector<Subgraph> subgraphs_;
};

}  // namespace sluice::ir
