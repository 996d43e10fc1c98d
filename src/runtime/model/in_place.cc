#include "runtime/model/in_place.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::runtime {
namespace {

using ir::ElementType;

/// Operators whose kernels only compute with the values. Check all kernels of an operator before
/// you add it here.
constexpr std::array<std::string_view, 21> kArithmetic = {"Add",
                                                          "AveragePool",
                                                          "BatchNormalization",
                                                          "Conv",
                                                          "ConvTranspose",
                                                          "Div",
                                                          "Elementwise",
                                                          "Gemm",
                                                          "Gelu",
                                                          "GlobalAveragePool",
                                                          "HardSigmoid",
                                                          "LayerNormalization",
                                                          "LeakyRelu",
                                                          "MatMul",
                                                          "Mul",
                                                          "Relu",
                                                          "Reorder",
                                                          "Sigmoid",
                                                          "Softmax",
                                                          "Sub",
                                                          "Tanh"};
/// Operators that may return a view of their input.
constexpr std::array<std::string_view, 6> kViews = {"Flatten", "Identity",  "Reshape",
                                                    "Squeeze", "Transpose", "Unsqueeze"};

bool is_floating(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF16 || type == ElementType::kBf16 ||
         type == ElementType::kF64;
}

bool is_one_of(std::string_view kind, const auto& kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

class Reading {
 public:
  explicit Reading(const ir::Subgraph& subgraph) : subgraph_(subgraph), uses_(subgraph) {}

  /// Requires: a graph without cycles, as the verifier guarantees.
  bool is_harmless(ir::OperandId operand) const {
    const ir::Type& type = subgraph_.operand(operand).type;
    if (!type.is_tensor() || !is_floating(type.element()) || uses_.is_output(operand)) return false;
    return std::ranges::all_of(uses_.readers(operand), [&](ir::OperationId id) {
      const ir::Operation& operation = subgraph_.operation(id);
      const bool is_ours = operation.domain.empty() || operation.domain == "sluice";
      if (!is_ours) return false;
      if (is_one_of(operation.kind, kArithmetic)) return true;
      return is_one_of(operation.kind, kViews) && operation.input(0) == operand &&
             std::ranges::count(operation.inputs, operand) == 1 && is_harmless(operation.output(0));
    });
  }

 private:
  const ir::Subgraph& subgraph_;
  const ir::UseIndex uses_;
};

}  // namespace

std::vector<bool> find_in_place_inputs(const ir::Graph& graph) {
  const Reading reading(graph.main());
  std::vector<bool> harmless;
  for (const ir::OperandId input : graph.main().inputs) {
    harmless.push_back(reading.is_harmless(input));
  }
  return harmless;
}

}  // namespace sluice::runtime
