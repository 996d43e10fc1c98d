// ONNX files of a node or a few, written byte by byte: the generated code of ONNX would be in a
// program of tests twice, once of its own and once in libsluice_compiler.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::testing {

/// A tensor of the graph's inputs or outputs. Dimensions are numbers or symbols, such as "N".
struct OnnxValue {
  std::string name;
  int element_type = 1;  ///< number of TensorProto.DataType
  std::vector<std::string> dims = {};
};

struct OnnxNode {
  std::string domain;
  std::string kind;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, float>> floats = {};  ///< attributes
};

/// A model that imports opset 17 of ONNX's default domain and version 1 of each other domain of the
/// nodes. Nodes have the names of their first outputs.
std::vector<std::byte> onnx_model(const std::vector<OnnxNode>& nodes,
                                  const std::vector<OnnxValue>& inputs,
                                  const std::vector<OnnxValue>& outputs);

}  // namespace sluice::testing
