#pragma once

#include <cstdint>
#include <vector>

#include "kernels/body/body.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The source of an input of a Body.
struct ChainSource {
  enum class From : std::uint8_t { kResult, kRunInput, kConstant };
  From from = From::kResult;
  int run_input = 0;                      ///< index into Run::input
  const sluice_tensor* tensor = nullptr;  ///< type and dimensions; of constants also the value
};

/// A body with its sources, which are computed as floats. The operation's own result, if any, is
/// source 0.
struct Chain {
  Body body;
  sluice_element_type result_type = plugin::kF32;
  std::vector<ChainSource> sources;  ///< [body.input_count]
};

/// Translates the fused body of `op` (of sluice::Elementwise: its whole meaning). Only of
/// sluice::Elementwise may a source or the result be of another type than f32.
/// Fails: kUnimplemented, naming the step, where a step or a type has no fast form.
Status translate_body(const sluice_op& op, Chain* chain);

/// Translates a lone element-wise operator such as Add.
Status translate_operator(const sluice_op& op, Chain* chain);

/// Operators of ONNX's domain that `translate_operator` knows.
std::vector<const char*> elementwise_kinds();

/// Address of a source in this run; null for the operation's own result.
template <typename T = float>
const T* source_address(const ChainSource& source, const Run& run) {
  if (source.from == ChainSource::From::kResult) return nullptr;
  if (source.from == ChainSource::From::kConstant) {
    return static_cast<const T*>(source.tensor->data);
  }
  return run.input<T>(source.run_input);
}

}  // namespace sluice::cpu
