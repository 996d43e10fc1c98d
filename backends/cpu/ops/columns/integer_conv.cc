// ConvInteger: weights times columns, both of bytes.

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/columns/column_op.h"
#include "ops/matrix/byte_sums.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

enum Input { kX, kW, kXZero, kWZero };

/// Rows of weights are copied beside their sums first. Then work is divided by image, group and
/// panel of windows.
class IntegerConv : public Kernel {
 public:
  IntegerConv(const sluice_op& op, Isa isa, const ColumnChannels& channels,
              const ColumnWindow& window)
      : Kernel(op),
        isa_(isa),
        channels_(channels),
        window_(window),
        panels_{channels.inputs * window.taps(), window.places(), byte_tiles(isa).width} {}

  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (phase == 0) return prepare_rows(run, worker);
    const std::int64_t count = panels_.count();
    const Share share = share_of(channels_.batch * channels_.groups * count, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      run_panel(run, i / count, i % count * panels_.width, worker.scratch);
    }
  }

  /// For the rows of weights: sums [rows], zero points [rows], both in 32 bits, then their bytes.
  std::int64_t shared_bytes() const override { return rows_begin() + num_rows() * row_bytes(); }
  std::int64_t scratch_bytes() const override {
    return columns_begin() + panels_.k * panels_.width;
  }
  void extents(Extents& extents) const override {
    const std::int64_t planes = channels_.batch * channels_.groups;
    extents.reads(kX, {planes, channels_.inputs, window_.pixels()});
    extents.reads(kW, {num_rows(), panels_.k});
    for (const int i : {kXZero, kWZero}) {
      if (has_input(op(), i)) extents.reads(i, {plugin::num_elements(op().inputs[i].tensor)});
    }
    extents.writes(0, {planes, channels_.outputs, window_.places(), sizeof(std::int32_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(channels_.batch * num_rows() * window_.places()) *
           static_cast<double>(panels_.k) / 40;
  }

 private:
  std::int64_t num_rows() const { return channels_.groups * channels_.outputs; }
  std::int64_t row_bytes() const { return panels_.groups() * kByteGroup; }
  /// Behind the sums and zero points of the rows.
  std::int64_t rows_begin() const { return divide_up(num_rows() * 8, 64) * 64; }
  /// Behind the panel.
  std::int64_t columns_begin() const { return divide_up(panels_.panel_bytes(), 64) * 64; }

  ByteZeros zeros_of(const Run& run, int input, std::uint8_t flip) const {
    if (!has_input(op(), input)) return {nullptr, true, flip};
    return {run.input<std::uint8_t>(input), plugin::num_elements(op().inputs[input].tensor) == 1,
            flip};
  }

  void prepare_rows(const Run& run, const Worker& worker) const {
    auto* sums = reinterpret_cast<std::int32_t*>(run.shared());
    auto* bytes = reinterpret_cast<std::uint8_t*>(run.shared() + rows_begin());
    const ByteZeros zeros = zeros_of(run, kWZero, flip_of_rows(op().inputs[kW].tensor));
    const Share share = share_of(num_rows(), 16, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      sums[i] = SLUICE_CPU_PICK(isa_, copy_byte_row)(run.input<std::uint8_t>(kW) + i * panels_.k,
                                                     panels_.k, row_bytes(), zeros.flip,
                                                     bytes + i * row_bytes());
      sums[num_rows() + i] = zeros.of_row(i);
    }
  }

  void run_panel(const Run& run, std::int64_t image_group, std::int64_t first,
                 std::byte* scratch) const {
    const std::int64_t count = std::min(panels_.width, window_.places() - first);
    const ByteZeros zeros = zeros_of(run, kXZero, flip_of_columns(op().inputs[kX].tensor));
    // A place in the padding is the zero point, which adds nothing to a sum.
    const std::uint8_t padding = zeros.data == nullptr ? 0 : *zeros.data;
    const std::uint8_t* x =
        run.input<std::uint8_t>(kX) + image_group * channels_.inputs * window_.pixels();
    auto* columns = reinterpret_cast<std::uint8_t*>(scratch + columns_begin());
    ByteColumns from = {columns, panels_.width, panels_.k, count, zeros.flip};
    if (window_.is_identity()) {
      from.b = x + first;
      from.row = window_.pixels();
    } else {
      fill_columns<std::uint8_t>(
          window_, first, count,
          {x, window_.pixels(), channels_.inputs, columns, panels_.width, padding});
    }
    pack_sum_panel(panels_, from, zeros, first, isa_, scratch);
    const std::int64_t row = image_group % channels_.groups * channels_.outputs;
    const auto* sums = reinterpret_cast<const std::int32_t*>(run.shared());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(run.shared() + rows_begin());
    const ByteRows rows = {bytes + row * row_bytes(), sums + row, sums + num_rows() + row,
                           channels_.outputs};
    multiply_sum_panel(
        panels_, rows, scratch, false, count, isa_,
        run.output<std::int32_t>(0) + image_group * channels_.outputs * window_.places() + first,
        window_.places());
  }

  Isa isa_;
  ColumnChannels channels_;
  ColumnWindow window_;
  BytePanels panels_;
};

bool is_byte(const sluice_tensor& tensor) {
  return tensor.element_type == plugin::kU8 || tensor.element_type == plugin::kI8;
}

Status check_integer_conv(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[kX].tensor;
  const sluice_tensor& w = op.inputs[kW].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (op.body != nullptr) return unimplemented("fused body");
  if (!is_byte(x) || !is_byte(w) || y.element_type != plugin::kI32) return unimplemented("types");
  if (x.rank < 3 || x.rank > 5 || w.rank != x.rank || y.rank != x.rank) {
    return unimplemented("other ranks");
  }
  if (Status status = check_byte_zeros(op, kX, kXZero, 1); !status.is_ok()) return status;
  return check_byte_zeros(op, kW, kWZero, w.dims[0]);
}

Status make_integer_conv(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  ColumnChannels channels;
  ColumnWindow window;
  if (Status status = read_column_conv(op, &channels, &window); !status.is_ok()) return status;
  *kernel = std::make_unique<IntegerConv>(op, isa, channels, window);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> integer_conv_entries() {
  return {{.kind = "ConvInteger",
           .check = check_integer_conv,
           .make = make_integer_conv,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
