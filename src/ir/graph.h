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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/log/work_counts.h"
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
  /// The inputs, then those of the body; some may be absent.
  std::vector<OperandId> reads() const;
  template <typename Visit>
  void for_each_read(const Visit& visit) const {
    for (const OperandId id : inputs) visit(id);
    if (!body) return;
    for (const OperandId id : body->inputs) visit(id);
  }
  /// "node \"conv1\" (Conv)": for messages.
  std::string describe() const;
};

/// The order of a subgraph while it is edited: an insertion or a removal takes constant time.
class OrderEdits {
 public:
  explicit OrderEdits(std::span<const OperationId> order, std::size_t num_operations);

  /// At the end if `position` is not in the order.
  void insert_before(OperationId position, OperationId id);
  void append(OperationId id) { link(id, kEnd); }
  /// No effect if it is not in the order.
  void remove(OperationId id);
  std::vector<OperationId> settle() const;

 private:
  /// Entry 0 stands before the first operation and behind the last; operation i has entry i + 1.
  /// An entry outside the order names itself.
  static constexpr std::uint32_t kEnd = 0;
  struct Entry {
    std::uint32_t previous;
    std::uint32_t next;
  };
  static std::uint32_t entry_of(OperationId id) {
    return static_cast<std::uint32_t>(id.index()) + 1;
  }
  void grow(std::size_t num_entries);
  void link(OperationId id, std::uint32_t before);

  std::vector<Entry> entries_;
};

class Subgraph {
 public:
  std::string name;
  std::vector<OperandId> inputs;   ///< in signature order
  std::vector<OperandId> outputs;  ///< in signature order; may repeat or name an input or constant

  OperandId add_operand(Operand operand);
  /// Appends at the end of the order.
  OperationId add_operation(Operation operation);
  /// Inserts before `position` in the order; at its end if `position` is not there. Constant time.
  OperationId insert_operation(OperationId position, Operation operation);
  /// Removes it from the order; its outputs keep existing without a producer. Constant time.
  void remove_operation(OperationId id);

  OperandId add_constant(std::string operand_name, Constant constant);

  Operand& operand(OperandId id) { return operands_[id.index()]; }
  const Operand& operand(OperandId id) const { return operands_[id.index()]; }
  Operation& operation(OperationId id) {
    ++work_counts.visits;
    return operations_[id.index()];
  }
  const Operation& operation(OperationId id) const {
    ++work_counts.visits;
    return operations_[id.index()];
  }

  std::size_t num_operands() const { return operands_.size(); }
  std::size_t num_operations() const { return order().size(); }
  /// Execution order, until the next change. Requires for a valid graph: every operand is produced
  /// before it is read. The first call after insertions and removals takes linear time, and counts
  /// as a change.
  std::span<const OperationId> order() const {
    if (edits_) settle_order();
    return order_;
  }
  /// Requires: a part of order(), in any order that is valid for the graph.
  void set_order(std::vector<OperationId> order) {
    order_ = std::move(order);
    edits_.reset();
  }

  bool is_constant(OperandId id) const {
    return id.is_valid() && operands_[id.index()].constant.has_value();
  }
  /// Null if not a constant (or absent).
  const Constant* find_constant(OperandId id) const {
    return is_constant(id) ? &*operands_[id.index()].constant : nullptr;
  }

  /// Drops operands that nothing names and removed operations; renumbers all ids.
  void compact();

 private:
  std::vector<Operand> operands_;
  std::vector<Operation> operations_;  // with removed ones, until compact()
  void settle_order() const;
  OrderEdits& edits();

  mutable std::vector<OperationId> order_;  // stale while there are edits
  mutable std::optional<OrderEdits> edits_;
};

/// Who writes and reads each operand of a subgraph. Indexes the whole subgraph once; whoever
/// changes operations afterwards tells it: `remove` before the change, `add` after it.
class UseIndex {
 public:
  explicit UseIndex(const Subgraph& subgraph);

  /// Takes in an operation that was added to the subgraph or changed.
  void add(const Subgraph& subgraph, OperationId id);
  /// Forgets an operation that is about to be changed or removed.
  void remove(const Subgraph& subgraph, OperationId id);

  /// Invalid for inputs, constants, and operands that the index does not know yet.
  OperationId producer(OperandId id) const {
    return id.index() < uses_.size() ? uses_[id.index()].producer : OperationId();
  }
  /// In execution order, those that were added later last; an operation that reads an operand twice
  /// stands twice. Body inputs count. Valid until the next change.
  std::span<const OperationId> readers(OperandId id) const;
  std::size_t num_readers(OperandId id) const {
    return id.index() < uses_.size() ? uses_[id.index()].num_readers() : 0;
  }
  bool is_output(OperandId id) const {
    return id.index() < uses_.size() && uses_[id.index()].is_output;
  }
  /// Read by exactly one operation, once, and no output of the subgraph.
  bool has_single_use(OperandId id) const { return num_readers(id) == 1 && !is_output(id); }

 private:
  struct Uses {
    OperationId producer;
    std::vector<OperationId> readers;  ///< with those that are gone
    std::vector<OperationId> gone;     ///< to be dropped from `readers` when someone asks
    bool is_output = false;

    std::size_t num_readers() const { return readers.size() - gone.size(); }
  };
  Uses& uses_of(OperandId id);

  mutable std::vector<Uses> uses_;  // by operand
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
