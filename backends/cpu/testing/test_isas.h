#pragma once

#include <vector>

#include "core/isa.h"

namespace sluice::cpu {

/// Every instruction set that this machine runs: kernels are tested in all of them.
inline std::vector<Isa> isas_to_test() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= detect_isa()) isas.push_back(isa);
  }
  return isas;
}

}  // namespace sluice::cpu
