#include "plugin/generate/text/attend.h"

#include <algorithm>

#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

std::string num_registers(std::int64_t value_size) {
  return std::to_string(std::max<std::int64_t>((value_size + 31) / 32, 1));
}

std::string for_registers(std::int64_t value_size) {
  return "#pragma unroll\n  for (int n = 0; n < " + num_registers(value_size) + "; ++n) ";
}

}  // namespace

std::string attend_functions() {
  return warp_function("max_of_warp", "a < b ? b : a") + warp_function("sum_of_warp", "a + b");
}

std::string attend_text(const std::string& begin, const std::string& end, std::int64_t value_size,
                        const std::string& point_value) {
  const std::string each = for_registers(value_size);
  return "  float a[" + num_registers(value_size) +
         "] = {}, most = __int_as_float(0xff800000), sum = 0.0f;\n  for (Index first = " + begin +
         "; first < " + end + "; first += 32) {\n    const Index j = first + threadIdx.x;\n" +
         "    const float s = j < " + end + " ? score(j, true) : __int_as_float(0xff800000);\n" +
         // Without a key that is seen the largest score is -infinity, which would make p NaN.
         "    const float above = max_of_warp(most < s ? s : most);\n" +
         "    const float base = above == __int_as_float(0xff800000) ? 0.0f : above;\n" +
         "    const float p = expf(s - base), scale = expf(most - base);\n" +
         "    most = above;\n    sum = sum * scale + sum_of_warp(p);\n" + each +
         "a[n] *= scale;\n    const Index count = " + end + " - first < 32 ? " + end +
         " - first : 32;\n    for (Index t = 0; t < count; ++t) {\n" +
         "      const Index at = first + t;\n" +
         "      const float weight = __shfl_sync(0xffffffffu, p, t);\n" + point_value + each +
         "{\n        const int d = threadIdx.x + n * 32;\n        if (d < " +
         std::to_string(value_size) + ") a[n] += weight * float(v[d]);\n      }\n    }\n  }\n";
}

std::string store_attended(const std::string& target, std::int64_t value_size,
                           const std::string& value) {
  return for_registers(value_size) + "{\n    const int d = threadIdx.x + n * 32;\n    if (d < " +
         std::to_string(value_size) + ") " + target + " = " + value + ";\n  }\n";
}

}  // namespace sluice::cuda
