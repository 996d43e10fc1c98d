// RoundRows: a warp rounds a row to 8 bits. The results are those of other backends in every byte.

#include <algorithm>

#include "plugin/generate/attention/rounded_rows.h"
#include "plugin/generate/families.h"
#include "plugin/generate/text/text.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::RoundRows", nullptr};

Status check(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented("RoundRows: a fused body");
  if (op.num_inputs != 1 || op.num_outputs != 1) return shapes_disagree(op);
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (!is_real(x.element_type) || y.element_type != plugin::kI8 ||
      x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return plugin::unimplemented("RoundRows: not row-major f32, f16 or bf16 to i8");
  }
  if (x.rank < 1 || x.rank != y.rank) return shapes_disagree(op);
  const Dims from = plugin::dims_of(x);
  const Dims to = plugin::dims_of(y);
  const std::size_t last = from.size() - 1;
  const std::int64_t wider = from[last] < 0 ? -1 : from[last] + kScaleBytes;
  return agree(from.first(last), to.first(last)) && agree(wider, to[last]) ? plugin::ok()
                                                                           : shapes_disagree(op);
}

// $0: numbers of a row. Divisions round as the host's do, and ties go to even numbers.
constexpr const char* kText = R"(  const float infinity = __int_as_float(0x7f800000);
  const auto* from = x0 + row * $0;
  signed char* const to = y + row * ($0 + 4);
  float most = 0.0f;
  for (int d = threadIdx.x; d < $0; d += 32) {
    const float a = fabsf(float(from[d]));
    most = a <= most ? most : a == a ? a : infinity;
  }
  most = max_of_warp(most);
  float scale = __fdiv_rn(most, 127.0f);
  if (scale < __int_as_float(0x00800000)) scale = 0.0f;
  if (most == infinity) scale = __int_as_float(0x7fc00000);
  for (int d = threadIdx.x; d < $0; d += 32) {
    int number = scale > 0.0f ? __float2int_rn(__fdiv_rn(float(from[d]), scale)) : 0;
    number = number < -127 ? -127 : number > 127 ? 127 : number;
    to[d] = (signed char)number;
  }
  if (threadIdx.x < 4) {
    to[$0 + threadIdx.x] = (signed char)(__float_as_uint(scale) >> 8 * threadIdx.x & 255);
  }
}
)";

Status write(const sluice_op& op, Source* source) {
  const std::int64_t size = plugin::dims_of(op.inputs[0].tensor).back();
  const std::int64_t bytes = plugin::num_elements(op.outputs[0].tensor);
  const std::int64_t rows = bytes / (size + kScaleBytes);
  if (!set_row_grid(rows, source)) return too_large(op);
  Parameters parameters(op);
  parameters.add(0);
  source->text = warp_function("max_of_warp", "a < b ? b : a") + kernel_head(parameters, bytes) +
                 find_row(rows) + fill(kText, {std::to_string(size)});
  source->operands = parameters.operands();
  return plugin::ok();
}

}  // namespace

const Family kRoundRowsFamily = {kKinds, check, write};

}  // namespace sluice::cuda
