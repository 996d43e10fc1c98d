#pragma once

#include <cstdint>

#include "exec/loaded_model.h"

namespace sluice::runtime {

/// The handling of NaN in outputs.
enum class NanPolicy : std::uint8_t {
  kPass,  ///< outputs are not checked
  kFlag,  ///< kNumericError, with the outputs
  kFail,  ///< kNumericError, without outputs
};

/// Whether a tensor of f32, f64, f16 or bf16 holds a NaN; other types hold none. Reads it all.
bool holds_nan(const exec::TensorView& tensor);

}  // namespace sluice::runtime
