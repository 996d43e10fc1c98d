// Inputs and outputs of a model that are maps (ai.onnx.ml: ZipMap, DictVectorizer, CastMap).
//
// Sluice passes tensors. A map with known keys is a row with a column per key, absent keys being 0
// or ""; a list of maps is a matrix. The keys in the order of their columns are a fact of the
// graph: metadata "columns.<name of the input or output>".
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "ir/type.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// The columns of a map, or of a list of maps, whose number is unknown; an unknown type for others.
/// Fails: kInvalidArgument if the type of the map's values does not exist.
Result<ir::Type> map_columns(const pb::TypeProto& proto);

/// The row that an input of type map takes, with a column per key of the operator that reads it, or
/// `unnamed` columns where that takes any. Fails: kInvalidArgument if no operator tells.
Result<ir::Type> map_input_type(const pb::GraphProto& main, const pb::ValueInfoProto& input,
                                const ir::Dim& unnamed);

/// "columns.<name>" -> the keys, texts quoted. Reads the nodes of the main graph.
std::map<std::string, std::string> describe_columns(const pb::GraphProto& main);

}  // namespace sluice::onnx
