// The order in which the nodes of a graph can be imported.
#pragma once

#include <vector>

#include "base/result.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// Sorts nodes so that each follows the nodes whose outputs it, or a graph inside it, reads. Nodes
/// of a sorted file keep their order. Pointers into `nodes`.
/// Fails: kInvalidArgument naming the nodes of a cycle, or a value that two nodes write.
Result<std::vector<pb::NodeProto*>> sort_nodes(
    google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes);

}  // namespace sluice::onnx
