// One input, one output of the same shape: Relu, Sqrt, ...
#include <cmath>

#include "reference/elementwise.h"
#include "reference/families.h"

namespace sluice::reference {

std::vector<KernelEntry> elementwise_unary_kernels() {
  return {
      unary<kFloats + kSignedInts>("Relu", [](auto x) { return x < 0 ? 0 : x; }),
      unary<kFloats>("Sqrt", [](auto x) { return std::sqrt(x); }),
  };
}

}  // namespace sluice::reference
