#include "conv/direct/conv_plan.h"

#include <algorithm>

#include "conv/direct/conv_taps.h"
#include "core/divide.h"

namespace sluice::cpu {
namespace {

std::int64_t floats_per_row_of_blocks(const ConvPlan& plan) {
  return plan.input_blocks() * plan.strip.row;
}

bool has_pads(const ConvShape& s) {
  return s.pad_begin.h != 0 || s.pad_begin.w != 0 || s.pad_end.h != 0 || s.pad_end.w != 0;
}

/// A 1x1 convolution of stride 1 without padding does not depend on the image's width: its image
/// becomes one column in which every pixel is a row.
ConvShape normalised(ConvShape s) {
  const bool pointwise = s.kernel.h == 1 && s.kernel.w == 1 && s.stride.h == 1 && s.stride.w == 1;
  if (pointwise && !has_pads(s)) s.input = {s.input.h * s.input.w, 1};
  return s;
}

/// The columns of remainder `phase`, of which [begin, end) exist in the input and the rest is
/// padding.
ConvPhase phase_of(const ConvShape& s, std::int64_t columns, std::int64_t phase) {
  const std::int64_t before = std::max<std::int64_t>(0, s.pad_begin.w - phase);
  const std::int64_t width = std::max<std::int64_t>(0, s.input.w + s.pad_begin.w - phase);
  const std::int64_t begin = std::min(columns, divide_up(before, s.stride.w));
  const std::int64_t end = std::clamp(divide_up(width, s.stride.w), begin, columns);
  return {begin, end, begin * s.stride.w + phase - s.pad_begin.w};
}

/// Without padding, or with taps in padding left out, and with horizontal stride 1 the kernels read
/// the input in place. Otherwise a copy is needed: padded, and sorted by column modulo the stride.
void lay_out_strip(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  ConvStrip& strip = plan.strip;
  strip.copied = (has_pads(s) && !plan.skips.pays) || s.stride.w != 1;
  if (!strip.copied) {
    strip.columns = s.input.w;
    strip.row = s.input.w * plan.pixel;
    strip.rows_per_output = s.stride.h;
    strip.block = s.input.h * strip.row;
    return;
  }
  const std::int64_t phases = std::min(s.stride.w, (s.kernel.w - 1) * s.dilation.w + 1);
  strip.columns = plan.output.w + (s.kernel.w - 1) * s.dilation.w / s.stride.w;
  strip.row = phases * strip.columns * plan.pixel;
  for (std::int64_t p = 0; p < phases; ++p) {
    strip.phases.push_back(phase_of(s, strip.columns, p));
  }
  strip.rows_per_output = s.kernel.h == 1 ? 1 : s.stride.h;
}

/// Tap (kh, kw) of a pixel lies at a fixed distance from the pixel, because each phase is
/// contiguous. In an input with padding that no tile reads, the first tap lies before the pixel.
void list_taps(ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const Extent pad = plan.strip.copied ? Extent{0, 0} : s.pad_begin;
  for (std::int64_t kh = 0; kh < s.kernel.h; ++kh) {
    for (std::int64_t kw = 0; kw < s.kernel.w; ++kw) {
      const std::int64_t shift = kw * s.dilation.w;
      const std::int64_t phase = shift % s.stride.w;
      const std::int64_t column = phase * plan.strip.columns + shift / s.stride.w - pad.w;
      plan.taps.push_back((kh * s.dilation.h - pad.h) * plan.strip.row + column * plan.pixel);
    }
  }
}

/// Rows of a band, at most `most`, such that all bands are nearly equal: a last band of few rows
/// would read all weights for little work. The result is even where possible, because narrow
/// images are computed by pairs of rows.
std::int64_t even_part(std::int64_t rows, std::int64_t most) {
  const std::int64_t part = divide_up(rows, divide_up(rows, most));
  return part % 2 == 0 || part == most ? part : part + 1;
}

/// The band's input must stay in L2 while all weights pass by; its rows follow from that size.
void choose_band(const ConvBlocks& blocks, ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  ConvStrip& strip = plan.strip;
  if (plan.skips.pays) {  // a pass reads few blocks of channels: those of a whole image fit
    plan.band_rows = plan.output.h;
    return;
  }
  const std::int64_t row_bytes = floats_per_row_of_blocks(plan) * 4;
  const std::int64_t bytes = strip.copied ? blocks.strip_bytes : blocks.band_bytes;
  const std::int64_t extra = (s.kernel.h - 1) * s.dilation.h;
  const std::int64_t rows = (bytes / row_bytes - extra) / strip.rows_per_output;
  plan.band_rows = even_part(plan.output.h, std::clamp<std::int64_t>(rows, 1, plan.output.h));
  if (!strip.copied) return;
  strip.rows = (plan.band_rows - 1) * strip.rows_per_output + extra + 1;
  strip.block = strip.rows * strip.row;
}

/// Divides a panel's input blocks into the fewest equal passes whose weights are below pass_bytes.
void choose_pass(const ConvBlocks& sizes, ConvPlan& plan) {
  const ConvPanel& p = plan.packing.panels().front();
  const std::int64_t blocks = divide_up(p.in_channels, plan.channels_per_block());
  const std::int64_t bytes =
      p.in_channels * p.width * static_cast<std::int64_t>(plan.taps.size() * sizeof(float));
  const std::int64_t passes = std::min(blocks, divide_up(bytes, sizes.pass_bytes));
  plan.pass_blocks = divide_up(blocks, passes);
}

}  // namespace

std::int64_t ConvPlan::strip_floats() const {
  return strip.copied ? divide_up(input_blocks() * strip.block, kBlock) * kBlock : 0;
}

std::int64_t ConvPlan::sums_floats() const {
  return shape.out_layout == Layout::kPlanes ? band_rows * output.w * tiles().panel : 0;
}

std::int64_t ConvPlan::widened_floats() const {
  const auto tap_count = static_cast<std::int64_t>(taps.size());
  return weights == Storage::kF32 ? 0
                                  : pass_blocks * channels_per_block() * tap_count * tiles().panel;
}

std::int64_t ConvPlan::scratch_bytes() const {
  return (strip_floats() + sums_floats() + widened_floats()) *
             static_cast<std::int64_t>(sizeof(float)) +
         epilogue.body.body.scratch_bytes();
}

ConvPlan plan_conv(const ConvShape& shape, const ConvEpilogue& epilogue, Isa isa,
                   const ConvBlocks& blocks, Storage weights) {
  const ConvShape s = normalised(shape);
  ConvPlan plan(s, epilogue, isa);
  plan.weights = weights;
  plan.pixel = s.in_layout == Layout::kBlocked ? kBlock : 1;
  plan.skips = find_tap_skips(s);
  lay_out_strip(plan);
  plan.flat = plan.strip.rows_per_output == 1 && s.kernel.h == 1 && s.kernel.w == 1;
  list_taps(plan);
  choose_band(blocks, plan);
  choose_pass(blocks, plan);
  plan.division = blocks.division;
  return plan;
}

}  // namespace sluice::cpu
