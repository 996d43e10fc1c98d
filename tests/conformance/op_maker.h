// Operations for tests, without a model around them.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/op.h"
#include "ir/graph.h"

namespace sluice::conformance {

ir::Type tensor_type(ir::ElementType element, std::vector<std::int64_t> dims);

/// Describes one operation of the newest version that tests use, and makes its `Op`.
///
///   OpMaker("Add", 14).input(type).constant(c).output(type).make()
class OpMaker {
 public:
  explicit OpMaker(std::string kind, int version = 13, std::string domain = "");

  /// Name of the node; "node" without it.
  OpMaker& name(std::string name);
  OpMaker& input(const ir::Type& type);
  OpMaker& constant(ir::Constant constant);
  OpMaker& absent_input();
  OpMaker& output(const ir::Type& type);
  OpMaker& attribute(std::string name, ir::Attribute value);

  /// A body's input, and its steps over registers: 0 is the operation's own result (unless it is
  /// `sluice::Elementwise`), then body inputs, then body constants, then steps. The last step is
  /// the result.
  OpMaker& body_input(const ir::Type& type);
  OpMaker& body_constant(ir::Constant constant);
  OpMaker& step(std::string kind, int version, const std::vector<int>& registers);

  /// Bytes that `pack` made of an input.
  OpMaker& packed(std::size_t input, std::span<const std::byte> bytes);

  const std::string& kind() const { return operation_.kind; }
  const ir::Operation& operation() const { return operation_; }
  const ir::Graph& graph() const { return graph_; }
  Result<backend::Op> make() const;

 private:
  ir::Subgraph& body();

  ir::Graph graph_;
  ir::Operation operation_;
  std::vector<ir::OperandId> registers_;  // of the body
  std::vector<std::span<const std::byte>> packed_;
};

}  // namespace sluice::conformance
