// ConvTranspose of f32 images of one to three dimensions, with any sizes and weights; Col2Im.

#include <memory>
#include <vector>

#include "ops/columns/column_op.h"
#include "ops/operands/constants.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

// ---- ConvTranspose: the window slides over the output, and there is one per input element

/// Work is divided by image, group and block of output channels, and where no two windows meet a
/// pixel, by piece of the windows.
///
///     columns [channels * taps][windows] = weights [channels * taps][inputs] * x [inputs][windows]
///
/// for a block of output channels and some windows, then added to the image. Weights are stored as
/// [inputs][outputs][taps], so the product reads them down their columns (a_row = 1).
class ColumnTranspose : public Kernel {
 public:
  ColumnTranspose(const sluice_op& op, Isa isa, const ColumnChannels& channels,
                  const ColumnWindow& window)
      : Kernel(op),
        isa_(isa),
        channels_(channels),
        window_(window),
        block_(std::clamp<std::int64_t>(kRows / window.taps(), 1, channels.outputs)),
        columns_(columns_together(block_ * window.taps(), window)),
        plan_(column_product(block_ * window.taps(), columns_, channels.inputs)) {
    plan_.a_row = 1;
    plan_.a_step = channels.outputs * window.taps();
    plan_.b_row = window.places();
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t pieces = count_pieces();
    const std::int64_t block = block_for(worker.count, pieces);
    const std::int64_t blocks = divide_up(channels_.outputs, block);
    const Share share = share_of(channels_.batch * channels_.groups * blocks * pieces, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t place = i % pieces * columns_;
      const Share places = {
          place, pieces == 1 ? window_.places() : std::min(place + columns_, window_.places())};
      const std::int64_t first = i / pieces % blocks * block;
      const Share outputs = {first, std::min(first + block, channels_.outputs)};
      run_block(run, i / pieces / blocks, outputs, places, worker.scratch);
    }
  }

  void extents(Extents& extents) const override {
    const std::int64_t planes = channels_.batch * channels_.groups;
    const std::int64_t outputs = channels_.groups * channels_.outputs;
    extents.reads(0, {planes, channels_.inputs, window_.places(), sizeof(float)});
    extents.reads(1, {outputs, channels_.inputs, window_.taps(), sizeof(float)});
    if (has_input(op(), 2)) extents.reads(2, {outputs, sizeof(float)});
    extents.writes(0, {planes, channels_.outputs, window_.pixels(), sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return product_bytes() + plan_.m * columns_ * static_cast<std::int64_t>(sizeof(float));
  }
  double cost_ns() const override {
    return static_cast<double>(channels_.batch * channels_.groups * channels_.outputs *
                               channels_.inputs * window_.taps() * window_.places()) /
           20;
  }

 private:
  static constexpr std::int64_t kRows = 128;  ///< of a product, at most

  /// Windows whose columns stay in the cache until they are added: rows of them, if that is some.
  static std::int64_t columns_together(std::int64_t rows, const ColumnWindow& window) {
    constexpr std::int64_t kBlockFloats = 16 << 10;
    constexpr std::int64_t kLeast = 64;
    const std::int64_t width = window.windows[2];
    const std::int64_t most = std::max(kLeast, kBlockFloats / rows);
    return std::min(window.places(), most < width ? most : most / width * width);
  }

  /// Pieces of the windows: a worker takes one at a time.
  std::int64_t count_pieces() const {
    return window_.is_tiling() && columns_ > 0 ? divide_up(window_.places(), columns_) : 1;
  }

  /// Output channels of a block, at most block_: blocks are alike, and there is one for each worker
  /// if channels suffice.
  std::int64_t block_for(int workers, std::int64_t pieces) const {
    const std::int64_t parts = channels_.batch * channels_.groups * pieces;
    const std::int64_t each = divide_up(workers, parts);
    const std::int64_t least = divide_up(channels_.outputs, block_);
    return divide_up(channels_.outputs, divide_up(least, each) * each);
  }

  std::int64_t product_bytes() const {
    return (SLUICE_CPU_PICK(isa_, gemm_scratch_bytes)(plan_) + 63) / 64 * 64;
  }

  void run_block(const Run& run, std::int64_t image_group, const Share& outputs,
                 const Share& places, std::byte* scratch) const {
    const std::int64_t group = image_group % channels_.groups;
    const std::int64_t count = outputs.end - outputs.begin;
    const std::int64_t taps = window_.taps();
    const std::int64_t plane = image_group * channels_.outputs + outputs.begin;
    float* columns = reinterpret_cast<float*>(scratch + product_bytes());
    float* y = run.output<float>(0) + plane * window_.pixels();
    const float* biases = has_input(op(), 2)
                              ? run.input<float>(2) + group * channels_.outputs + outputs.begin
                              : nullptr;
    // The image begins as its bias, because columns are added to it.
    for (std::int64_t m = 0; m < count && !window_.is_tiling(); ++m) {
      std::fill_n(y + m * window_.pixels(), window_.pixels(), biases == nullptr ? 0 : biases[m]);
    }
    GemmPlan plan = plan_;
    plan.m = count * taps;
    GemmArgs args;
    args.a =
        run.input<float>(1) + (group * channels_.inputs * channels_.outputs + outputs.begin) * taps;
    args.c = columns;
    for (std::int64_t place = places.begin; place < places.end; place += columns_) {
      plan.n = std::min(columns_, places.end - place);
      plan.c_row = plan.n;
      args.b = run.input<float>(0) + image_group * channels_.inputs * window_.places() + place;
      SLUICE_CPU_PICK(isa_, run_gemm)(plan, args, Worker{0, 1, scratch});
      for (std::int64_t m = 0; m < count; ++m) {
        const float* from = columns + m * taps * plan.n;
        float* to = y + m * window_.pixels();
        if (window_.is_tiling()) {
          const float bias = biases == nullptr ? 0 : biases[m];
          place_columns(window_, from, plan.n, place, plan.n, bias, to, isa_);
        } else {
          add_columns(window_, from, plan.n, place, plan.n, to, isa_);
        }
      }
    }
  }

  Isa isa_;
  ColumnChannels channels_;
  ColumnWindow window_;
  std::int64_t block_;    ///< output channels
  std::int64_t columns_;  ///< windows at a time
  GemmPlan plan_;
};

/// With output_shape or auto_pad the padding is whatever is too much, split in two.
void derive_pads(const sluice_op& op, std::size_t rank, ColumnWindow* w) {
  const plugin::Attributes attributes(op);
  const auto auto_pad = attributes.get_text("auto_pad", "NOTSET");
  const auto extra = attributes.get_ints("output_padding");
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (attributes.get_ints("output_shape").empty() && !is_same) return;
  const std::size_t skipped = ColumnWindow::kAxes - rank;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = skipped + i;
    const std::int64_t full = (w->windows[d] - 1) * w->stride[d] +
                              (w->kernel[d] - 1) * w->dilation[d] + 1 +
                              (i < extra.size() ? extra[i] : 0);
    const std::int64_t total = std::max<std::int64_t>(0, full - w->image[d]);
    w->pad[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
  }
}

Status check_transpose_conv(const sluice_op& op) {
  const std::int32_t rank = op.inputs[0].tensor.rank;
  if (rank < 3 || rank > 5 || op.inputs[1].tensor.rank != rank ||
      op.outputs[0].tensor.rank != rank) {
    return unimplemented("other ranks");
  }
  return check_plain_f32(op);
}

Status make_transpose_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = dims_of(op.inputs[0].tensor);
  const auto w = dims_of(op.inputs[1].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  const bool is_fit = groups >= 1 && x[0] >= 1 && x[1] == w[0] && w[0] >= 1 && w[0] % groups == 0 &&
                      w[1] >= 1 && y[0] == x[0] && y[1] == groups * w[1] &&
                      (!has_input(op, 2) || plugin::num_elements(op.inputs[2].tensor) == y[1]);
  if (!is_fit) return unimplemented("operands that do not fit");
  ColumnWindow window;
  Status status = read_column_window(op, w.subspan(2), x.subspan(2), y.subspan(2), &window);
  if (!status.is_ok()) return status;
  derive_pads(op, x.size() - 2, &window);
  const ColumnChannels channels = {x[0], groups, w[0] / groups, w[1]};
  *kernel = std::make_unique<ColumnTranspose>(op, isa, channels, window);
  return plugin::ok();
}

// ---- Col2Im: columns [N, C * taps, places] to images [N, C, spatial...]

class ColumnsToImage : public Kernel {
 public:
  ColumnsToImage(const sluice_op& op, Isa isa, std::int64_t planes, const ColumnWindow& window)
      : Kernel(op), isa_(isa), planes_(planes), window_(window) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(planes_, 1, worker);
    const std::int64_t places = window_.places();
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      float* y = run.output<float>(0) + i * window_.pixels();
      std::fill_n(y, window_.pixels(), 0.0F);
      const float* from = run.input<float>(0) + i * window_.taps() * places;
      add_columns(window_, from, places, 0, places, y, isa_);
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {planes_, window_.taps(), window_.places(), sizeof(float)});
    extents.writes(0, {planes_, window_.pixels(), sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(planes_ * window_.taps() * window_.places()) * 0.4;
  }

 private:
  Isa isa_;
  std::int64_t planes_;
  ColumnWindow window_;
};

Status check_columns_to_image(const sluice_op& op) {
  if (op.body != nullptr || op.num_inputs != 3) return unimplemented("other operands");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 || y.element_type != plugin::kF32)
    return unimplemented("not f32");
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR || x.rank != 3) {
    return unimplemented("other layouts or ranks");
  }
  Dims values;
  const bool is_known = constant_integers(op, 1, &values) && constant_integers(op, 2, &values);
  return is_known ? plugin::ok() : unimplemented("sizes at run time");
}

Status make_columns_to_image(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  Dims image;
  Dims kernel_shape;
  constant_integers(op, 1, &image);
  constant_integers(op, 2, &kernel_shape);
  const auto x = dims_of(op.inputs[0].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  if (image.empty() || y.size() != image.size() + 2 || !std::ranges::equal(y.subspan(2), image) ||
      kernel_shape.size() != image.size()) {
    return unimplemented("operands that do not fit");
  }
  // The number of windows along each axis, as the image and its pads have it.
  ColumnWindow window;
  Status status = read_column_window(op, kernel_shape, image, image, &window);
  if (!status.is_ok()) return status;
  for (int d = 0; d < ColumnWindow::kAxes; ++d) {
    const std::int64_t room = window.image[d] + window.pad[d] + window.pad_end[d] -
                              (window.kernel[d] - 1) * window.dilation[d] - 1;
    if (room < 0) return unimplemented("a kernel that does not fit");
    window.windows[d] = room / window.stride[d] + 1;
  }
  const bool is_fit = x[0] >= 1 && y[0] == x[0] && y[1] >= 1 && x[1] == y[1] * window.taps() &&
                      x[2] == window.places();
  if (!is_fit) return unimplemented("operands that do not fit");
  *kernel = std::make_unique<ColumnsToImage>(op, isa, x[0] * y[1], window);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> column_transpose_entries() {
  return {{.kind = "ConvTranspose",
           .check = check_transpose_conv,
           .make = make_transpose_conv,
           .num_required_inputs = 2},
          {.kind = "Col2Im",
           .check = check_columns_to_image,
           .make = make_columns_to_image,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
