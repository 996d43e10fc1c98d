// Records operations one by one: the graph of a function that a program traces.
//
//     auto recorder = Recorder();
//     const auto x = recorder.add_input("x", f32[N,3]);
//     const auto y = recorder.record({.kind = "Relu", .inputs = {x}, .source = "net.cc:12"});
//     recorder.add_output("y", y->front());
//     ir::Graph graph = recorder.graph();
//
// Each operation is checked, and the types of its outputs are inferred, when it is recorded. So an
// error belongs to the line of the program that recorded the operation.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ops/inference.h"

namespace sluice::trace {

/// An operation to record. An invalid OperandId stands for an absent input.
struct Recorded {
  std::string domain = {};  ///< "" for ONNX's default domain
  std::string kind;
  int version = 0;  ///< of the domain, as ONNX counts them; 0: the newest
  std::vector<ir::OperandId> inputs = {};
  std::size_t num_outputs = 1;
  ir::Attributes attributes = {};
  std::string source = {};  ///< "net.cc:12"; "" if it is not known
};

/// Used by one thread at a time. A call that fails leaves the graph as it was.
class Recorder {
 public:
  /// Fails: kInvalidArgument  a name that is empty or taken, a type that is no tensor
  Result<ir::OperandId> add_input(const std::string& name, ir::Type type);

  /// Fails: kInvalidArgument for bytes that do not fit the type.
  Result<ir::OperandId> add_constant(const std::string& name, ir::Constant constant);

  /// Gives one operand per output.
  /// Fails: kUnimplemented   no such operator, or one that contains subgraphs
  ///        kInvalidArgument what the operator's schema or shape function refuses
  Result<std::vector<ir::OperandId>> record(Recorded recorded);

  /// Fails: kInvalidArgument for a name that is empty or taken, or an operand that does not exist.
  Status add_output(const std::string& name, ir::OperandId operand);

  /// Requires: the recorder made `operand`.
  const ir::Type& type(ir::OperandId operand) const { return graph_.main().operand(operand).type; }
  bool has(ir::OperandId operand) const {
    return operand.is_valid() && operand.index() < graph_.main().num_operands();
  }

  /// The graph as the importer of ONNX files leaves one. The recorder may go on.
  /// Fails: kInvalidArgument without an output.
  Result<ir::Graph> graph() const;

 private:
  Status check_new(const std::string& name, std::string_view what) const;
  Result<ir::Operation> operation_of(Recorded& recorded);
  void learn_new_operands();
  Status infer(ir::OperationId id);
  ir::Subgraph& main() { return graph_.main(); }

  ir::Graph graph_;
  ops::SubgraphFacts facts_;     // of all operands
  std::set<std::string> names_;  // of inputs and outputs
  std::int64_t num_recorded_ = 0;
};

}  // namespace sluice::trace
