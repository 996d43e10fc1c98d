// Registers that PTX predefines, as far as they are constant while a block runs.
#pragma once

#include <string_view>

#include "emulator/ptx/code/program.h"

namespace sluice::cuda::ptx {

struct SpecialRegister {
  std::string_view name;
  Initial what;
};

/// Null for other names; %clock and %globaltimer are instructions' work.
const SpecialRegister* find_special(std::string_view name);

}  // namespace sluice::cuda::ptx
