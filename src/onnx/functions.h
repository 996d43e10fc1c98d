// Functions that a model defines for itself.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "onnx/proto/proto.h"
#include "onnx/scope.h"

namespace sluice::onnx {

struct Function {
  pb::FunctionProto* proto = nullptr;
  Opsets opsets;
  std::vector<pb::NodeProto*> nodes;               ///< sorted
  std::vector<pb::AttributeProto> default_values;  ///< of parameters that have one
  std::int64_t cost = 0;                           ///< what inlining it adds; see node_cost
  bool is_open = false;                            ///< one of its calls is being inlined
};

/// A rough measure of the memory that a node takes as an operation; a small one has 8.
std::int64_t node_cost(const pb::NodeProto& node);

/// Versions by domain. Fails: kInvalidArgument for a version that cannot be.
Result<Opsets> read_opsets(
    const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports);

class FunctionTable {
 public:
  /// `opsets` are the model's, for domains that a function does not import itself.
  static Result<FunctionTable> create(pb::ModelProto& model, const Opsets& opsets);

  /// The function that the node calls; null if the model defines none. Lives as long as the table
  /// and the model.
  Function* find(const pb::NodeProto& node);

 private:
  using Key = std::array<std::string, 3>;  ///< domain, name, overload

  std::map<Key, Function> functions_;
};

}  // namespace sluice::onnx
