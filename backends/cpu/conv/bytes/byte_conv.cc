#include "conv/bytes/byte_conv.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/divide.h"
#include "kernels/bytes/wide_bytes.h"

namespace sluice::cpu {
namespace {

// join_planes has code for one to four planes.
constexpr std::int64_t kMaxPlanes = kByteGroup;
// A sum of so many products fits 32 bits: a byte less its zero point is at most 255 from zero, a
// weight at most 128.
constexpr std::int64_t kMaxProducts = INT32_MAX / (255 * 128);

bool is_joined(const ConvShape& shape) { return shape.in_layout == Layout::kPlanes; }

}  // namespace

const char* byte_conv_refusal(const ConvShape& s) {
  if (const char* reason = refusal(s); reason != nullptr) return reason;
  if (s.groups != 1) return "groups";
  if (s.out_layout != Layout::kBlocked) return "the result is not c16";
  if (is_joined(s) && s.in_channels > kMaxPlanes) return "planes of many channels";
  if (is_joined(s) && s.dilation.w != 1) return "dilated planes";
  if (s.in_channels * s.kernel.h * s.kernel.w > kMaxProducts) return "sums may pass 32 bits";
  const std::int64_t channels = is_joined(s) ? kByteGroup : blocks_of(s.in_channels) * kBlock;
  const std::int64_t rows = s.input.h + s.pad_begin.h + s.pad_end.h;
  const std::int64_t columns = s.input.w + s.pad_begin.w + s.pad_end.w;
  return channels * rows * columns > INT32_MAX ? "an image is too large" : nullptr;
}

const ByteConvTileSet& byte_conv_tiles(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && has_vnni()) return avx512vnni::kByteConvTiles;
#endif
  return *SLUICE_CPU_PICK(isa, kByteConvTiles);
}

// ---- weights ------------------------------------------------------------------------------------

ByteConvPacking::ByteConvPacking(const ConvShape& s, Isa isa)
    : shape(s), width(std::int64_t{byte_conv_tiles(isa).blocks} * kBlock) {
  const bool joined = is_joined(s);
  runs = joined ? s.kernel.h : s.kernel.h * s.kernel.w;
  blocks = joined ? 1 : blocks_of(s.in_channels);
  groups = joined ? divide_up(s.kernel.w * s.in_channels, kByteGroup) : kBlock / kByteGroup;
}

/// Panel `m / width` of the packed form has a lane per output channel:
///
///     [runs][blocks][groups][width][4]   bytes of weights, zeros for padded channels
///     [width]                            sums of weights, 32 bits each
///
/// One vector load of a group brings four weights of each of several output channels, the second
/// operand of `multiply_add`.
void ByteConvPacking::pack(const std::int8_t* weights, void* packed) const {
  std::memset(packed, 0, static_cast<std::size_t>(bytes()));
  const std::int64_t taps = shape.kernel.h * shape.kernel.w;
  for (std::int64_t m = 0; m < shape.out_channels; ++m) {
    auto* panel = static_cast<std::int8_t*>(packed) + m / width * panel_bytes();
    const std::int64_t lane = m % width;
    std::int32_t sum = 0;
    for (std::int64_t c = 0; c < shape.in_channels; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int8_t w = weights[(m * shape.in_channels + c) * taps + tap];
        // With planes, a row of taps is a run; otherwise sixteen channels of a tap are a block.
        const std::int64_t column = tap % shape.kernel.w;
        const std::int64_t byte =
            is_joined(shape) ? tap / shape.kernel.w * run_bytes() + column * shape.in_channels + c
                             : (tap * blocks + c / kBlock) * kBlock + c % kBlock;
        panel[(byte / kByteGroup * width + lane) * kByteGroup + byte % kByteGroup] = w;
        sum += w;
      }
    }
    std::memcpy(panel + matrix_bytes() + lane * 4, &sum, sizeof sum);
  }
}

// ---- plan ---------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kLine = 64;

std::int64_t to_lines(std::int64_t bytes) { return divide_up(bytes, kLine) * kLine; }

/// Input rows under so many output rows.
std::int64_t rows_under(const ConvShape& s, std::int64_t rows) {
  return (rows - 1) * s.stride.h + (s.kernel.h - 1) * s.dilation.h + 1;
}

}  // namespace

// Parts of a worker's scratch lie behind each other: the table, the strip, and what is widened.
// Each ends at a multiple of 64 bytes.
std::int64_t ByteConvPlan::table_bytes() const {
  const std::int64_t rows = byte_conv_tiles(isa).pixels;
  const std::int64_t tiles = divide_up(block_pixels, rows);
  return to_lines(tiles * packing.runs * rows * 4);
}

std::int64_t ByteConvPlan::strip_bytes() const {
  if (strip_row == 0) return 0;
  const std::int64_t kept = rows_under(shape, divide_up(block_pixels, output.w));
  // The last group of a run may end behind the last pixel, where weights are zero.
  return to_lines(kept * strip_row + kByteGroup);
}

std::int64_t ByteConvPlan::wide_input_bytes() const {
  if (!is_wide) return 0;
  if (strip_row > 0) return strip_bytes() * 2;
  // A block may begin and end inside a row.
  const std::int64_t touched = std::min(divide_up(block_pixels - 1, output.w) + 1, output.h);
  const std::int64_t kept = std::min(rows_under(shape, touched), shape.input.h);
  return to_lines(kept * shape.input.w * packing.blocks * kBlock * 2);
}

std::int64_t ByteConvPlan::wide_panel_bytes() const {
  return is_wide ? to_lines(packing.matrix_bytes() * 2) : 0;
}

std::int64_t ByteConvPlan::scratch_bytes() const {
  return table_bytes() + strip_bytes() + wide_input_bytes() + wide_panel_bytes();
}

ByteConvPlan divide_byte_conv(const ConvShape& shape, Isa isa, const ByteConvBlocks& blocks) {
  ByteConvPlan plan = {.shape = shape,
                       .output = shape.output(),
                       .isa = isa,
                       .packing = ByteConvPacking(shape, isa),
                       .epilogue = {}};
  const ByteConvPacking& packing = plan.packing;
  const std::int64_t pixels = plan.output.h * plan.output.w;
  const std::int64_t image = shape.input.h * shape.input.w;
  // A block of pixels meets all panels before the next one comes. Its table and its input must stay
  // in the cache for that long, so the smaller limit holds.
  std::int64_t most = std::min(blocks.pixels, blocks.table_bytes / (packing.runs * 4));
  if (is_joined(shape)) {
    plan.input_image = shape.in_channels * image;
    plan.strip_row = (shape.input.w + shape.pad_begin.w + shape.pad_end.w) * shape.in_channels;
    // A block of a joined image begins a row, as `join_rows` requires.
    plan.grain = plan.output.w;
  } else {
    plan.input_image = packing.blocks * kBlock * image;
    const std::int64_t number = byte_conv_tiles(isa).knows_narrow ? 2 : 1;  // bytes, widened
    const std::int64_t per_pixel =
        packing.blocks * kBlock * number * shape.stride.h * shape.stride.w;
    most = std::min(most, blocks.input_bytes / per_pixel);
    plan.grain = byte_conv_tiles(isa).pixels;
  }
  plan.division = blocks.division;
  plan.block_pixels = std::min(std::max(most / plan.grain, std::int64_t{1}) * plan.grain, pixels);
  return plan;
}

ByteConvPlan plan_byte_conv(const ConvShape& shape, ByteConvEpilogue epilogue,
                            std::uint8_t input_zero, Isa isa, const void* packed,
                            const ByteConvBlocks& blocks) {
  ByteConvPlan plan = divide_byte_conv(shape, isa, blocks);
  plan.epilogue = std::move(epilogue);
  plan.input_zero = input_zero;
  const ByteConvPacking& packing = plan.packing;
  // sum (x - zero) * w = sum x * w - zero * sum w. Bytes in the padding are `zero`, so the second
  // term is the same at the border.
  for (std::int64_t j = 0; j < packing.panels(); ++j) {
    const auto* sums =
        static_cast<const std::byte*>(packed) + j * packing.panel_bytes() + packing.matrix_bytes();
    for (std::int64_t lane = 0; lane < packing.width; ++lane) {
      std::int32_t sum = 0;
      std::memcpy(&sum, sums + lane * 4, sizeof sum);
      plan.starts.push_back(-sum * input_zero);
    }
  }
  const bool knows_narrow = byte_conv_tiles(isa).knows_narrow;
  for (std::int64_t j = 0; j < packing.panels(); ++j) {
    const auto* panel = static_cast<const std::int8_t*>(packed) + j * packing.panel_bytes();
    plan.narrow.push_back(knows_narrow &&
                          SLUICE_CPU_PICK(isa, is_narrow_panel)(panel, packing.matrix_bytes()));
    plan.is_wide = plan.is_wide || (knows_narrow && !plan.narrow.back());
  }
  plan.epilogue.scales.resize(plan.starts.size());
  plan.epilogue.biases.resize(plan.starts.size());
  plan.padding.assign(static_cast<std::size_t>(packing.groups * kByteGroup), input_zero);
  plan.wide_padding.assign(plan.padding.size(), input_zero);
  return plan;
}

// ---- run ----------------------------------------------------------------------------------------

namespace {

/// Output pixels [begin, end) of one image.
struct PixelBlock {
  std::int64_t image = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class ByteConvRun {
 public:
  ByteConvRun(const ByteConvPlan& plan, const ByteConvArgs& args, std::byte* scratch)
      : plan_(plan),
        args_(args),
        set_(byte_conv_tiles(plan.isa)),
        table_(reinterpret_cast<std::int32_t*>(scratch)),
        strip_(reinterpret_cast<std::uint8_t*>(scratch + plan.table_bytes())),
        wide_input_(reinterpret_cast<std::uint16_t*>(strip_ + plan.strip_bytes())),
        wide_panel_(reinterpret_cast<std::int16_t*>(strip_ + plan.strip_bytes() +
                                                    plan.wide_input_bytes())) {}

  void run(const PixelBlock& block, Share panels) {
    find_rows(block);
    if (plan_.strip_row > 0) join_rows(block);
    if (plan_.is_wide) widen_rows(block);
    const std::int64_t tiles = divide_up(block.end - block.begin, set_.pixels);
    fill_table(block, tiles);
    for (std::int64_t j = panels.begin; j < panels.end; ++j) run_panel(block, tiles, j);
  }

 private:
  std::int64_t tile_begin(const PixelBlock& block, std::int64_t tiles, std::int64_t t) const {
    return block.begin + (block.end - block.begin) * t / tiles;
  }

  /// The first input row that a pixel's window begins at, before padding is taken off.
  std::int64_t first_row(std::int64_t pixel) const {
    return pixel / plan_.output.w * plan_.shape.stride.h - plan_.shape.pad_begin.h;
  }

  /// The input row behind the last one under a pixel's window.
  std::int64_t end_row(std::int64_t pixel) const {
    return first_row(pixel) + rows_under(plan_.shape, 1);
  }

  /// The rows of the image under the block, those in the padding left out.
  void find_rows(const PixelBlock& block) {
    const std::int64_t h = plan_.shape.input.h;
    rows_.begin = std::clamp(first_row(block.begin), std::int64_t{0}, h);
    rows_.end = std::clamp(end_row(block.end - 1), rows_.begin, h);
  }

  /// Widens the strip, or the rows of each block of channels.
  void widen_rows(const PixelBlock& block) {
    const auto widen = SLUICE_CPU_PICK(plan_.isa, widen_left);
    if (plan_.strip_row > 0) return widen(strip_, plan_.strip_bytes(), wide_input_);
    const ConvShape& s = plan_.shape;
    const std::int64_t row = s.input.w * kBlock;
    const std::int64_t count = (rows_.end - rows_.begin) * row;
    const std::uint8_t* image = args_.input + block.image * plan_.input_image;
    for (std::int64_t c = 0; c < plan_.packing.blocks; ++c) {
      widen(image + (c * s.input.h + rows_.begin) * row, count, wide_input_ + c * count);
    }
  }

  /// Copies the rows under the block, padded, channels side by side. Requires: it begins a row.
  void join_rows(const PixelBlock& block) {
    const ConvShape& s = plan_.shape;
    const std::int64_t begin = first_row(block.begin);
    const std::int64_t end = end_row(block.end - 1);
    const std::int64_t plane = s.input.h * s.input.w;
    const std::uint8_t* image = args_.input + block.image * plan_.input_image;
    std::uint8_t* row = strip_;
    for (std::int64_t y = begin; y < end; ++y, row += plan_.strip_row) {
      const auto fill = [&](std::int64_t column, std::int64_t columns) {
        std::memset(row + column * s.in_channels, plan_.input_zero,
                    static_cast<std::size_t>(columns * s.in_channels));
      };
      if (y < 0 || y >= s.input.h) {
        fill(0, plan_.strip_row / s.in_channels);
        continue;
      }
      fill(0, s.pad_begin.w);
      SLUICE_CPU_PICK(plan_.isa, join_planes)
      (image + y * s.input.w, plane, static_cast<int>(s.in_channels), s.input.w,
       row + s.pad_begin.w * s.in_channels);
      fill(s.pad_begin.w + s.input.w, s.pad_end.w);
    }
  }

  /// Fills the table with the start of each pixel's runs in each tile.
  void fill_table(const PixelBlock& block, std::int64_t tiles) {
    const std::int64_t rows = set_.pixels;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = tile_begin(block, tiles, t);
      const std::int64_t end = tile_begin(block, tiles, t + 1);
      std::int32_t* tile = table_ + t * plan_.packing.runs * rows;
      for (std::int64_t pixel = begin; pixel < end; ++pixel) {
        if (plan_.strip_row > 0) {
          place_in_strip(pixel - block.begin, tile + (pixel - begin));
        } else {
          place_in_image(pixel, tile + (pixel - begin));
        }
      }
    }
  }

  void place_in_strip(std::int64_t pixel, std::int32_t* offsets) const {
    // Offsets count from the first row of the strip, which is the first row under the block.
    const ConvShape& s = plan_.shape;
    const std::int64_t y = pixel / plan_.output.w * s.stride.h;
    const std::int64_t x = pixel % plan_.output.w * s.stride.w;
    for (std::int64_t run = 0; run < plan_.packing.runs; ++run) {
      offsets[run * set_.pixels] =
          static_cast<std::int32_t>((y + run * s.dilation.h) * plan_.strip_row + x * s.in_channels);
    }
  }

  void place_in_image(std::int64_t pixel, std::int32_t* offsets) const {
    // Offsets count from the first row under the block, in place or widened. Pixels outside read
    // the padding.
    const ConvShape& s = plan_.shape;
    const std::int64_t top = first_row(pixel);
    const std::int64_t left = pixel % plan_.output.w * s.stride.w - s.pad_begin.w;
    for (std::int64_t i = 0; i < s.kernel.h; ++i) {
      const std::int64_t y = top + i * s.dilation.h;
      const bool is_row = y >= 0 && y < s.input.h;
      for (std::int64_t j = 0; j < s.kernel.w; ++j, offsets += set_.pixels) {
        const std::int64_t x = left + j * s.dilation.w;
        const bool is_inside = is_row && x >= 0 && x < s.input.w;
        *offsets = is_inside
                       ? static_cast<std::int32_t>(((y - rows_.begin) * s.input.w + x) * kBlock)
                       : kPadding;
      }
    }
  }

  /// Where a tile reads input, padding and weights: as they are, or widened.
  void place_factors(const PixelBlock& block, const std::int8_t* panel, bool is_wide,
                     ByteConvTile* tile) const {
    const std::int64_t row = plan_.shape.input.w * kBlock;
    if (is_wide) {
      SLUICE_CPU_PICK(plan_.isa, widen_panel)(panel, plan_.packing.matrix_bytes(), wide_panel_);
      tile->weights = reinterpret_cast<const std::int8_t*>(wide_panel_);
      tile->input = reinterpret_cast<const std::uint8_t*>(wide_input_);
      tile->padding = reinterpret_cast<const std::uint8_t*>(plan_.wide_padding.data());
      tile->block_step = (rows_.end - rows_.begin) * row;
      return;
    }
    const std::int64_t first = block.image * plan_.input_image + rows_.begin * row;
    tile->weights = panel;
    tile->input = plan_.strip_row > 0 ? strip_ : args_.input + first;
    tile->padding = plan_.padding.data();
    tile->block_step = plan_.shape.input.h * row;
  }

  void run_panel(const PixelBlock& block, std::int64_t tiles, std::int64_t j) const {
    const ByteConvPacking& packing = plan_.packing;
    const ByteConvEpilogue& epilogue = plan_.epilogue;
    const auto* panel = static_cast<const std::int8_t*>(args_.weights) + j * packing.panel_bytes();
    const std::int64_t channel = j * packing.width;
    const std::int64_t pixels = plan_.output.h * plan_.output.w;
    const std::int64_t channel_blocks = blocks_of(plan_.shape.out_channels);
    const std::int64_t first_block = channel / kBlock;
    const int used =
        static_cast<int>(std::min<std::int64_t>(set_.blocks, channel_blocks - first_block));
    const bool is_narrow = plan_.narrow[static_cast<std::size_t>(j)];
    ByteConvTile tile;
    place_factors(block, panel, plan_.is_wide && !is_narrow, &tile);
    tile.offset_row = set_.pixels;
    tile.runs = packing.runs;
    tile.blocks = packing.blocks;
    tile.groups = packing.groups;
    tile.starts = plan_.starts.data() + channel;
    tile.scales = epilogue.scales.data() + channel;
    tile.biases = epilogue.biases.data() + channel;
    tile.low = epilogue.low;
    tile.high = epilogue.high;
    tile.own_low = epilogue.own_low;
    tile.own_high = epilogue.own_high;
    tile.residual_scale = epilogue.residual_scale;
    tile.output_block = pixels * kBlock;
    tile.output_zero = epilogue.output_zero;
    const std::int64_t out = (block.image * channel_blocks + first_block) * pixels * kBlock;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = tile_begin(block, tiles, t);
      const std::int64_t end = tile_begin(block, tiles, t + 1);
      const std::int64_t at = out + begin * kBlock;
      tile.offsets = table_ + t * packing.runs * set_.pixels;
      if (args_.residual_bytes != nullptr) tile.residual_bytes = args_.residual_bytes + at;
      if (args_.residual_floats != nullptr) tile.residual_floats = args_.residual_floats + at;
      if (args_.output_bytes != nullptr) tile.output_bytes = args_.output_bytes + at;
      if (args_.output_floats != nullptr) tile.output_floats = args_.output_floats + at;
      set_.find(static_cast<int>(end - begin), used, is_narrow)(tile);
    }
  }

  const ByteConvPlan& plan_;
  const ByteConvArgs& args_;
  const ByteConvTileSet& set_;
  std::int32_t* table_;
  std::uint8_t* strip_;
  std::uint16_t* wide_input_;
  std::int16_t* wide_panel_;
  Share rows_ = {};  ///< of the image, under the block
};

}  // namespace

/// By cost: whoever reads fewer bytes alone, weights by panels, images by pixels.
bool shares_panels(const ByteConvPlan& plan, int workers) {
  if (plan.strip_row != 0 || plan.packing.panels() < workers) return false;
  if (plan.division != Division::kByCost) return plan.division == Division::kChannels;
  return plan.packing.bytes() > plan.shape.batch * plan.input_image;
}

void run_byte_conv(const ByteConvPlan& plan, const ByteConvArgs& args, const Worker& worker) {
  const std::int64_t pixels = plan.output.h * plan.output.w;
  const std::int64_t panels = plan.packing.panels();
  const bool by_panels = shares_panels(plan, worker.count);
  const Share all = {0, plan.shape.batch * pixels};
  Share own = all;
  Share columns = {0, panels};
  if (by_panels) {
    columns = share_of(panels, 1, worker);
  } else {
    own = share_of(all.end, plan.grain, worker);
  }
  ByteConvRun run(plan, args, worker.scratch);
  for (std::int64_t at = own.begin; at < own.end;) {
    const std::int64_t image = at / pixels;
    const std::int64_t begin = at - image * pixels;
    // Offsets of a table count from one image, so no block crosses into the next image.
    const std::int64_t end = std::min({begin + plan.block_pixels, pixels, begin + own.end - at});
    run.run({image, begin, end}, columns);
    at += end - begin;
  }
}

}  // namespace sluice::cpu
