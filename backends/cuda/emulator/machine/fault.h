// How work on an emulated device ended.
#pragma once

#include <string>

#include "driver/results.h"

namespace sluice::cuda::emulator {

/// kSuccess, or a result and what happened: kernel, line, address, the memory around it.
struct Fault {
  CuResult result = CuResult::kSuccess;
  std::string text;

  bool is_none() const { return result == CuResult::kSuccess; }
};

}  // namespace sluice::cuda::emulator
