// What names mean while a graph or a function body is imported.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "onnx/proto/names.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// An outer value that a subgraph reads, and the subgraph's own operand for it.
struct Capture {
  ir::OperandId outer;
  ir::OperandId inner;
};

/// The names of one GraphProto or of one inlined call. A graph inside another also sees the outer
/// one's names: reading one adds an operand to its own subgraph (a constant again, sharing its
/// bytes, or a capture). A call writes into its caller's subgraph but sees nothing of it.
///
/// Borrows the graph and the outer scope. Used by one thread.
class Scope {
 public:
  /// The scope of a GraphProto, whose names are kept. `outer` is null for the main graph.
  Scope(ir::Graph& graph, ir::SubgraphId subgraph, Scope* outer);
  /// The scope of a function called from `caller`: names get `prefix`, except those in `renamed`.
  Scope(Scope& caller, std::string prefix, std::map<std::string, std::string> renamed);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  ir::SubgraphId subgraph_id() const { return subgraph_; }
  ir::Subgraph& subgraph() const { return graph_.subgraph(subgraph_); }

  /// What `name` stands for here; an invalid id for a function's input that the call left out.
  std::optional<ir::OperandId> find(const std::string& name);

  /// Fails: kInvalidArgument if the name has a meaning in this scope already, or is refused.
  Status define(const std::string& name, ir::OperandId id);

  /// Adds an operand of the declared type, if there is one, and defines it.
  Result<ir::OperandId> define_operand(const std::string& name);
  Status define_constant(const std::string& name, ir::Constant constant);

  /// Whether `name` is an initializer of this scope.
  bool defines_constant(const std::string& name) const;

  /// Whether `name` has a meaning in this scope itself.
  bool defines(const std::string& name) const { return values_.contains(name); }
  bool is_call() const { return caller_ != nullptr; }

  /// Makes `name` unavailable to operands that are named by Sluice.
  void reserve(const std::string& name) { taken().insert(name); }
  /// The name that an operand called `name` in the file has in the IR.
  std::string operand_name(const std::string& name);

  void declare(const std::string& name, ir::Type type) {
    declared_.insert_or_assign(name, std::move(type));
  }
  std::span<const Capture> captures() const { return captures_; }

  const std::string& prefix() const { return prefix_; }

  const Opsets* opsets = nullptr;             ///< inherited unless set
  const ir::Attributes* arguments = nullptr;  ///< a call's attributes; null outside functions

 private:
  std::unordered_set<std::string>& taken() { return caller_ ? caller_->taken() : taken_; }
  std::string unused_name(const std::string& wanted);
  ir::OperandId capture(const std::string& name, ir::OperandId outer);

  ir::Graph& graph_;
  ir::SubgraphId subgraph_;
  Scope* outer_ = nullptr;
  Scope* caller_ = nullptr;
  std::string prefix_;
  std::map<std::string, std::string> renamed_;
  std::unordered_map<std::string, ir::OperandId> values_;
  std::unordered_map<std::string, ir::Type> declared_;
  std::unordered_set<std::string> taken_;             // operand names of the subgraph
  std::unordered_map<std::string, int> last_number_;  // that made a name of Sluice's distinct
  std::vector<Capture> captures_;
};

}  // namespace sluice::onnx
