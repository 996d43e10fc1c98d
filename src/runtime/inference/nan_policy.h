#pragma once

#include <cstdint>

#include "exec/loaded_model.h"

namespace sluice::runtime {

/// What a NaN in an output leads to.
enum class NanPolicy : std::uint8_t {
  kPass,  ///< nobody looks
  kFlag,  ///< kNumericError, with the outputs
  kFail,  ///< kNumericError, without
};

/// Whether a tensor of f32, f64, f16 or bf16 holds a NaN; other types hold none. Reads it all.
bool holds_nan(const exec::TensorView& tensor);

}  // namespace sluice::runtime
