#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {

std::string warp_function(const std::string& name, const std::string& combine) {
  return "static __device__ float " + name +
         "(float a) {\n  for (int distance = 16; distance > 0; distance /= 2) {\n"
         "    const float b = __shfl_xor_sync(0xffffffffu, a, distance);\n    a = " +
         combine + ";\n  }\n  return a;\n}\n\n";
}

std::string find_row(std::int64_t num_rows) {
  return "  const Index row = Index(blockIdx.x) * " + std::to_string(kRowsPerBlock) +
         " + threadIdx.y;\n  if (row >= " + std::to_string(num_rows) + ") return;\n";
}

bool set_row_grid(std::int64_t num_rows, Source* source) {
  source->block = {32, kRowsPerBlock, 1};
  return set_grid(num_rows, kRowsPerBlock, source);
}

}  // namespace sluice::cuda
