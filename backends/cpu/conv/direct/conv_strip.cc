#include "conv/direct/conv_strip.h"

#include <cstring>

#include "kernels/image/transpose.h"

namespace sluice::cpu {
namespace {

void zero(float* at, std::int64_t count) {
  std::memset(at, 0, static_cast<std::size_t>(count) * sizeof(float));
}

void copy(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

void copy_every(const ConvPlan& plan, float* to, const float* from, std::int64_t count) {
  const std::int64_t step = plan.shape.stride.w;
  if (step == 1) return copy(to, from, count * plan.pixel);
  if (plan.pixel == 1 && step == 2) {
    SLUICE_CPU_PICK(plan.isa, every_second)(from, count, to);
    return;
  }
  if (plan.pixel == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kBlock, from + i * step * kBlock, kBlock * sizeof(float));
  }
}

/// True if the phases are the columns of a matrix [columns][kBlock] that the row is: a stride of 16
/// without padding, as in the patch embedding of vision transformers. The last row of a matrix
/// with fewer columns may end behind the image.
bool is_transpose(const ConvPlan& plan) {
  const std::vector<ConvPhase>& phases = plan.strip.phases;
  const bool is_full = phases.size() == static_cast<std::size_t>(kBlock);
  if (plan.pixel != 1 || plan.shape.stride.w != kBlock || !is_full) return false;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const ConvPhase& phase = phases[p];
    const bool is_whole = phase.begin == 0 && phase.end == plan.strip.columns;
    if (!is_whole || phase.first != static_cast<std::int64_t>(p)) return false;
  }
  return true;
}

/// One input row (null: padding) into its phases.
void fill_row(const ConvPlan& plan, const float* row, float* to) {
  if (row == nullptr) return zero(to, plan.strip.row);
  if (is_transpose(plan)) {
    SLUICE_CPU_PICK(plan.isa, block_to_planes)
    (row, plan.strip.columns, static_cast<std::int64_t>(plan.strip.phases.size()), to,
     plan.strip.columns);
    return;
  }
  const std::int64_t pixel = plan.pixel;
  for (const ConvPhase& phase : plan.strip.phases) {
    zero(to, phase.begin * pixel);
    copy_every(plan, to + phase.begin * pixel, row + phase.first * pixel, phase.end - phase.begin);
    zero(to + phase.end * pixel, (plan.strip.columns - phase.end) * pixel);
    to += plan.strip.columns * pixel;
  }
}

}  // namespace

void fill_strip(const ConvPlan& plan, const float* input, const Band& band, BlockRange blocks,
                float* strip) {
  const ConvShape& s = plan.shape;
  const std::int64_t row_step = s.kernel.h == 1 ? s.stride.h : 1;
  const std::int64_t first = band.first * s.stride.h - s.pad_begin.h;
  const std::int64_t rows =
      (band.count - 1) * plan.strip.rows_per_output + (s.kernel.h - 1) * s.dilation.h + 1;
  for (std::int64_t b = blocks.first; b < blocks.first + blocks.count; ++b) {
    const float* plane =
        input + (band.image * plan.input_blocks() + b) * s.input.h * s.input.w * plan.pixel;
    float* to = strip + b * plan.strip.block;
    for (std::int64_t r = 0; r < rows; ++r, to += plan.strip.row) {
      const std::int64_t y = first + r * row_step;
      const bool inside = y >= 0 && y < s.input.h;
      fill_row(plan, inside ? plane + y * s.input.w * plan.pixel : nullptr, to);
    }
  }
}

}  // namespace sluice::cpu
