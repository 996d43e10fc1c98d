// Convolutions as products: of f32 images of one to three dimensions, with weights of any run; and
// those whose taps offsets move (DeformConv).

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/image/gather_sums.h"
#include "ops/columns/column_op.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Work is divided by image, group and block of windows.
///
///     y [outputs][places] = weights [outputs][depth] * columns [depth][places]
///
/// for each image and group, where the depth is inputs * taps. Only the columns of one block of
/// windows exist at a time.
class ColumnConv : public Kernel {
 public:
  ColumnConv(const sluice_op& op, Isa isa, const ColumnChannels& channels,
             const ColumnWindow& window, int bias)
      : Kernel(op),
        isa_(isa),
        channels_(channels),
        window_(window),
        bias_(bias),
        depth_(channels.inputs * window.taps()),
        block_(columns_at_once(depth_, window.places())),
        plan_(column_product(channels.outputs, block_, depth_)) {
    plan_.c_row = window.places();
    plan_.b_row = block_;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t blocks = (window_.places() + block_ - 1) / block_;
    const Share share = share_of(channels_.batch * channels_.groups * blocks, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      run_block(run, i / blocks, i % blocks * block_, worker.scratch);
    }
  }

  void extents(Extents& extents) const override {
    const std::int64_t planes = channels_.batch * channels_.groups;
    extents.reads(0, {planes, channels_.inputs, window_.pixels(), sizeof(float)});
    extents.reads(1, {channels_.groups * channels_.outputs, depth_, sizeof(float)});
    if (bias_ >= 0) extents.reads(bias_, {channels_.groups * channels_.outputs, sizeof(float)});
    extents.writes(0, {planes, channels_.outputs, window_.places(), sizeof(float)});
  }
  std::int64_t scratch_bytes() const override { return product_bytes() + columns_bytes(); }
  double cost_ns() const override {
    return static_cast<double>(channels_.batch * channels_.groups * channels_.outputs * depth_ *
                               window_.places()) /
           20;
  }

 protected:
  /// Columns of windows [first, first + count) of a group of an image. Behind `columns` lies what
  /// scratch_bytes has more than this class needs.
  virtual void fill(const Run& run, std::int64_t image_group, std::int64_t first,
                    std::int64_t count, float* columns) const {
    const float* x = run.input<float>(0) + image_group * channels_.inputs * window_.pixels();
    fill_columns<float>(window_, first, count,
                        {x, window_.pixels(), channels_.inputs, columns, block_});
  }
  virtual bool reads_in_place() const { return window_.is_identity(); }

  const ColumnChannels& channels() const { return channels_; }
  const ColumnWindow& window() const { return window_; }
  std::int64_t block() const { return block_; }
  std::int64_t columns_bytes() const {
    return depth_ * block_ * static_cast<std::int64_t>(sizeof(float));
  }

 private:
  /// A multiple of a cache line, behind which the columns lie.
  std::int64_t product_bytes() const {
    return (SLUICE_CPU_PICK(isa_, gemm_scratch_bytes)(plan_) + 63) / 64 * 64;
  }

  void run_block(const Run& run, std::int64_t image_group, std::int64_t first,
                 std::byte* scratch) const {
    const std::int64_t count = std::min(block_, window_.places() - first);
    const std::int64_t group = image_group % channels_.groups;
    float* columns = reinterpret_cast<float*>(scratch + product_bytes());
    GemmPlan plan = plan_;
    plan.n = count;
    GemmArgs args;
    args.a = run.input<float>(1) + group * channels_.outputs * depth_;
    args.b = columns;
    // A window of one tap at its own place: the image is its own columns.
    if (reads_in_place()) {
      args.b = run.input<float>(0) + image_group * channels_.inputs * window_.pixels() + first;
      plan.b_row = window_.pixels();
    } else {
      fill(run, image_group, first, count, columns);
    }
    args.c = run.output<float>(0) + image_group * channels_.outputs * window_.places() + first;
    // Workers divide blocks, so the product is this worker's alone.
    SLUICE_CPU_PICK(isa_, run_gemm)(plan, args, Worker{0, 1, scratch});
    if (bias_ < 0) return;
    const float* bias = run.input<float>(bias_) + group * channels_.outputs;
    // This bias is per row; run_gemm adds one per column.
    for (std::int64_t m = 0; m < channels_.outputs; ++m) {
      float* row = args.c + m * window_.places();
      for (std::int64_t i = 0; i < count; ++i) row[i] += bias[m];
    }
  }

  Isa isa_;
  ColumnChannels channels_;
  ColumnWindow window_;
  int bias_;
  std::int64_t depth_;
  std::int64_t block_;
  GemmPlan plan_;
};

/// Adds the pixels around a moved tap to `sums` as one sum, by bilinear interpolation. A place a
/// pixel or more outside the image has no pixels around it, and so has a NaN, for which the
/// comparisons are false.
void add_between(const ColumnWindow& w, float y, float x, float weight, GatherSums& sums) {
  const auto height = static_cast<float>(w.image[1]);
  const auto width = static_cast<float>(w.image[2]);
  if (y > -1 && y < height && x > -1 && x < width) {
    const float row = std::floor(y);
    const float column = std::floor(x);
    for (int i = 0; i < 4; ++i) {
      const auto h = static_cast<std::int64_t>(row) + i / 2;
      const auto v = static_cast<std::int64_t>(column) + i % 2;
      if (h < 0 || h >= w.image[1] || v < 0 || v >= w.image[2]) continue;
      const float down = i / 2 == 0 ? 1 - (y - row) : y - row;
      const float over = i % 2 == 0 ? 1 - (x - column) : x - column;
      sums.add(h * w.image[2] + v, down * over * weight);
    }
  }
  sums.finish_sum();
}

enum DeformInput { kDeformX, kDeformW, kDeformOffset, kDeformBias, kDeformMask };

class DeformConv : public ColumnConv {
 public:
  DeformConv(const sluice_op& op, Isa isa, const ColumnChannels& channels,
             const ColumnWindow& window, std::int64_t offset_groups)
      : ColumnConv(op, isa, channels, window, has_input(op, kDeformBias) ? kDeformBias : -1),
        gather_sums_(SLUICE_CPU_PICK(isa, gather_sums)),
        offset_groups_(offset_groups),
        has_mask_(has_input(op, kDeformMask)) {}

  void extents(Extents& extents) const override {
    ColumnConv::extents(extents);
    const std::int64_t moves = channels().batch * offset_groups_ * window().taps();
    extents.reads(kDeformOffset, {moves, 2, window().places(), sizeof(float)});
    if (has_mask_) extents.reads(kDeformMask, {moves, window().places(), sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return ColumnConv::scratch_bytes() + block() * kBytesOfSum;
  }

 protected:
  bool reads_in_place() const override { return false; }

  void fill(const Run& run, std::int64_t image_group, std::int64_t first, std::int64_t count,
            float* columns) const override {
    // Groups of the convolution and of offsets cut the channels at different places: channels [c,
    // end) lie in one of each.
    const std::int64_t image = image_group / channels().groups;
    const std::int64_t begin = image_group % channels().groups * channels().inputs;
    const std::int64_t shared = channels().groups * channels().inputs / offset_groups_;
    const float* planes =
        run.input<float>(kDeformX) + image_group * channels().inputs * window().pixels();
    for (std::int64_t c = 0; c < channels().inputs;) {
      const std::int64_t group = (begin + c) / shared;
      const std::int64_t end = std::min(channels().inputs, (group + 1) * shared - begin);
      for (std::int64_t tap = 0; tap < window().taps(); ++tap) {
        const std::int64_t which = (image * offset_groups_ + group) * window().taps() + tap;
        GatherPlanes taken;
        taken.plane = planes + c * window().pixels();
        taken.plane_size = window().pixels();
        taken.output = columns + (c * window().taps() + tap) * block();
        taken.output_size = window().taps() * block();
        taken.planes = end - c;
        gather_sums_(moved_tap(run, which, tap, {first, first + count}, columns), taken);
      }
      c = end;
    }
  }

 private:
  /// An index and a weight of each of four pixels, and the sum's end.
  static constexpr std::int64_t kBytesOfSum = 4 * (4 + 4) + 4;

  /// A sum of pixels for each of `windows`, in the scratch behind `columns`. `which`: of all taps
  /// of all offset groups and images.
  ///
  ///     offsets [images][offset groups][taps][2][places]   down, then over
  ///     mask    [images][offset groups][taps][places]
  GatherSums moved_tap(const Run& run, std::int64_t which, std::int64_t tap, Share windows,
                       float* columns) const {
    const ColumnWindow& w = window();
    GatherSums sums;
    sums.index =
        reinterpret_cast<std::int32_t*>(reinterpret_cast<std::byte*>(columns) + columns_bytes());
    sums.weights = reinterpret_cast<float*>(sums.index + 4 * block());
    sums.ends = reinterpret_cast<std::int32_t*>(sums.weights + 4 * block());
    const float* down = run.input<float>(kDeformOffset) + 2 * which * w.places();
    const float* over = down + w.places();
    const float* mask = has_mask_ ? run.input<float>(kDeformMask) + which * w.places() : nullptr;
    const std::int64_t shift_h = tap / w.kernel[2] * w.dilation[1] - w.pad[1];
    const std::int64_t shift_w = tap % w.kernel[2] * w.dilation[2] - w.pad[2];
    for (std::int64_t at = windows.begin; at < windows.end; ++at) {
      const std::int64_t row = at / w.windows[2] * w.stride[1] + shift_h;
      const std::int64_t column = at % w.windows[2] * w.stride[2] + shift_w;
      add_between(w, static_cast<float>(row) + down[at], static_cast<float>(column) + over[at],
                  mask == nullptr ? 1 : mask[at], sums);
    }
    return sums;
  }

  decltype(&portable::gather_sums) gather_sums_;
  std::int64_t offset_groups_;
  bool has_mask_;
};

bool has_bias_of(const sluice_op& op, int input, std::int64_t channels) {
  return !has_input(op, input) || plugin::num_elements(op.inputs[input].tensor) == channels;
}

Status check_deform_conv(const sluice_op& op) {
  for (const int i : {0, 1, 2}) {
    if (op.inputs[i].tensor.rank != 4) return unimplemented("other ranks");
  }
  return op.outputs[0].tensor.rank == 4 ? check_plain_f32(op) : unimplemented("other ranks");
}

Status make_deform_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  ColumnChannels channels;
  ColumnWindow window;
  if (Status status = read_column_conv(op, &channels, &window); !status.is_ok()) return status;
  const std::int64_t groups = plugin::Attributes(op).get_int("offset_group", 1);
  const std::int64_t all = channels.groups * channels.inputs;
  if (groups < 1 || all % groups != 0) return unimplemented("offset groups that do not fit");
  const std::int64_t taps = window.taps() * groups;
  const std::int64_t offset[] = {channels.batch, 2 * taps, window.windows[1], window.windows[2]};
  const std::int64_t mask[] = {channels.batch, taps, window.windows[1], window.windows[2]};
  const bool is_fit = std::ranges::equal(dims_of(op.inputs[kDeformOffset].tensor), offset) &&
                      (!has_input(op, kDeformMask) ||
                       std::ranges::equal(dims_of(op.inputs[kDeformMask].tensor), mask)) &&
                      has_bias_of(op, kDeformBias, channels.groups * channels.outputs);
  if (!is_fit) return unimplemented("offsets, mask or bias that do not fit");
  if (window.pixels() > INT32_MAX) return unimplemented("so large an image");
  *kernel = std::make_unique<DeformConv>(op, isa, channels, window, groups);
  return plugin::ok();
}

}  // namespace

Status read_column_conv(const sluice_op& op, ColumnChannels* channels, ColumnWindow* window) {
  const auto x = dims_of(op.inputs[0].tensor);
  const auto w = dims_of(op.inputs[1].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  const bool is_fit = groups >= 1 && x[0] >= 1 && w[1] >= 1 && w[0] >= 1 && w[0] % groups == 0 &&
                      x[1] % groups == 0 && x[1] / groups == w[1] && y[0] == x[0] && y[1] == w[0];
  if (!is_fit) return unimplemented("operands that do not fit");
  *channels = {x[0], groups, w[1], w[0] / groups};
  return read_column_window(op, w.subspan(2), y.subspan(2), x.subspan(2), window);
}

Status check_column_conv(const sluice_op& op) {
  const std::int32_t rank = op.inputs[0].tensor.rank;
  if (rank < 3 || rank > 5 || op.inputs[1].tensor.rank != rank ||
      op.outputs[0].tensor.rank != rank) {
    return unimplemented("other ranks");
  }
  if (!has_input(op, 1)) return unimplemented("no weights");
  return check_plain_f32(op);
}

Status make_column_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  ColumnChannels channels;
  ColumnWindow window;
  if (Status status = read_column_conv(op, &channels, &window); !status.is_ok()) return status;
  if (!has_bias_of(op, 2, channels.groups * channels.outputs)) return unimplemented("another bias");
  *kernel = std::make_unique<ColumnConv>(op, isa, channels, window, has_input(op, 2) ? 2 : -1);
  return plugin::ok();
}

std::vector<OpEntry> deform_conv_entries() {
  return {{.kind = "DeformConv",
           .check = check_deform_conv,
           .make = make_deform_conv,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
