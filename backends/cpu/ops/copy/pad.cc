// Pad in all its modes.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "ops/operands/constants.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;

constexpr std::int64_t kNowhere = -1;

/// Where `index`, counted from the first element of an axis of `size`, is read; kNowhere for the
/// constant. Requires: size > 0 unless the mode is "constant".
std::int64_t padded_source(std::string_view mode, std::int64_t index, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(index, 0, size - 1);
  if (mode == "wrap") return (index % size + size) % size;
  if (mode == "reflect") {
    if (size == 1) return 0;
    // Back and forth over the axis, each end once: 0 1 2 3 2 1 0 1 ...
    const std::int64_t period = 2 * (size - 1);
    const std::int64_t place = (index % period + period) % period;
    return place < size ? place : period - place;
  }
  return index >= 0 && index < size ? index : kNowhere;
}

/// An axis of the output: where each index is read, and the run that is read in order.
struct PaddedAxis {
  std::vector<std::int64_t> source;
  std::int64_t inner_begin = 0, inner_end = 0;
};

PaddedAxis padded_axis(std::string_view mode, std::int64_t before, std::int64_t size,
                       std::int64_t length) {
  PaddedAxis axis;
  for (std::int64_t i = 0; i < length; ++i) {
    axis.source.push_back(padded_source(mode, i - before, size));
  }
  axis.inner_begin = std::clamp<std::int64_t>(before, 0, length);
  axis.inner_end = std::clamp<std::int64_t>(before + size, axis.inner_begin, length);
  return axis;
}

template <typename Element>
void fill_elements(std::byte* to, const std::byte* value, std::int64_t count) {
  Element element;
  std::memcpy(&element, value, sizeof element);
  std::fill_n(reinterpret_cast<Element*>(to), count, element);
}

void fill(std::byte* to, const std::byte* value, std::int64_t count, std::int64_t size) {
  const bool repeats = std::all_of(value, value + size, [&](std::byte b) { return b == *value; });
  if (repeats) {  // as a zero does
    std::memset(to, std::to_integer<int>(*value), static_cast<std::size_t>(count * size));
    return;
  }
  switch (size) {
    case 1: return fill_elements<std::uint8_t>(to, value, count);
    case 2: return fill_elements<std::uint16_t>(to, value, count);
    case 4: return fill_elements<std::uint32_t>(to, value, count);
    case 8: return fill_elements<std::uint64_t>(to, value, count);
    default:
      for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * size, value, static_cast<std::size_t>(size));
  }
}

class Pad : public Kernel {
 public:
  Pad(const sluice_op& op, const Dims& before)
      : Kernel(op), size_(element_bytes(op.inputs[0].tensor)) {
    const auto in = dims_of(op.inputs[0].tensor);
    const auto out = dims_of(op.outputs[0].tensor);
    const std::string_view mode = plugin::Attributes(op).get_text("mode", "constant");
    for (std::size_t d = 0; d < in.size(); ++d) {
      axes_.push_back(padded_axis(mode, before[d], in[d], out[d]));
    }
    strides_ = broadcast_strides(in, in);
    rows_ = product(out, 0, static_cast<std::int64_t>(out.size()) - 1);
    cols_ = out.back();
    if (out.size() > 1) height_ = out[out.size() - 2];
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::byte none[16] = {};
    const std::byte* value = has_input(op(), 2) ? run.input<std::byte>(2) : none;
    const Share share = share_of(rows_, 1, worker);
    for (std::int64_t row = share.begin; row < share.end;) {
      const std::int64_t plane = row / height_;
      const std::int64_t from = source_plane(plane);
      const std::int64_t end = std::min(share.end, (plane + 1) * height_);
      if (from == kNowhere) {
        fill(run.output<std::byte>(0) + row * cols_ * size_, value, (end - row) * cols_, size_);
        row = end;
      }
      for (; row < end; ++row) {
        std::byte* to = run.output<std::byte>(0) + row * cols_ * size_;
        const std::int64_t line = line_source(row - plane * height_);
        if (line == kNowhere) {
          fill(to, value, cols_, size_);
        } else {
          copy_row(run.input<std::byte>(0) + (from + line) * size_, to, value);
        }
      }
    }
  }

  void extents(Extents& extents) const override {
    if (has_input(op(), 2)) extents.reads(2, {size_});
    extents.writes(0, {rows_, cols_, size_});  // axes name places inside the input
  }
  double cost_ns() const override {
    return static_cast<double>(rows_) * (static_cast<double>(cols_ * size_) * 0.1 + 10);
  }

 private:
  /// Offset of the plane of the input, the last two axes, that a plane of the output is made of, in
  /// elements.
  std::int64_t source_plane(std::int64_t plane) const {
    std::int64_t from = 0;
    for (std::size_t d = axes_.size() < 2 ? 0 : axes_.size() - 2; d-- > 0;) {
      const auto length = static_cast<std::int64_t>(axes_[d].source.size());
      const std::int64_t index = axes_[d].source[static_cast<std::size_t>(plane % length)];
      plane /= length;
      if (index == kNowhere) return kNowhere;
      from += index * strides_[d];
    }
    return from;
  }

  /// Offset in its plane of the input row that row `row` of a plane is made of.
  std::int64_t line_source(std::int64_t row) const {
    if (axes_.size() < 2) return 0;
    const std::size_t d = axes_.size() - 2;
    const std::int64_t index = axes_[d].source[static_cast<std::size_t>(row)];
    return index == kNowhere ? kNowhere : index * strides_[d];
  }

  /// Places [begin, end) of a row; `kSize` is 0 where the size of an element is unknown here.
  template <std::int64_t kSize>
  void copy_each(std::int64_t begin, std::int64_t end, const std::byte* from, std::byte* to,
                 const std::byte* value) const {
    const std::int64_t size = kSize == 0 ? size_ : kSize;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t index = axes_.back().source[static_cast<std::size_t>(i)];
      const std::byte* element = index == kNowhere ? value : from + index * size;
      std::memcpy(to + i * size, element, static_cast<std::size_t>(size));
    }
  }

  void copy_row(const std::byte* from, std::byte* to, const std::byte* value) const {
    const PaddedAxis& axis = axes_.back();
    const auto copy_border = [&](std::int64_t begin, std::int64_t end) {
      switch (size_) {
        case 1: return copy_each<1>(begin, end, from, to, value);
        case 2: return copy_each<2>(begin, end, from, to, value);
        case 4: return copy_each<4>(begin, end, from, to, value);
        case 8: return copy_each<8>(begin, end, from, to, value);
        default: return copy_each<0>(begin, end, from, to, value);
      }
    };
    copy_border(0, axis.inner_begin);
    if (axis.inner_end > axis.inner_begin) {
      const std::int64_t first = axis.source[static_cast<std::size_t>(axis.inner_begin)];
      std::memcpy(to + axis.inner_begin * size_, from + first * size_,
                  static_cast<std::size_t>((axis.inner_end - axis.inner_begin) * size_));
    }
    copy_border(axis.inner_end, cols_);
  }

  std::vector<PaddedAxis> axes_;
  Dims strides_;
  std::int64_t size_;
  std::int64_t rows_ = 0;
  std::int64_t height_ = 1;  ///< rows of a plane
  std::int64_t cols_ = 0;
};

/// Padding in front of each axis; empty if it is not constant or does not fit.
Dims pads_before(const sluice_op& op) {
  Dims pads, axes;
  const sluice_tensor& x = op.inputs[0].tensor;
  if (op.num_inputs < 2 || !constant_integers(op, 1, &pads) || !constant_integers(op, 3, &axes)) {
    return {};
  }
  if (!has_input(op, 3)) {
    for (std::int64_t d = 0; d < x.rank; ++d) axes.push_back(d);
  }
  if (x.rank < 1 || op.outputs[0].tensor.rank != x.rank || pads.size() != 2 * axes.size()) {
    return {};
  }
  constexpr std::int64_t kFar = std::int64_t{1} << 60;  // sums stay far from overflow
  if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad > kFar || pad < -kFar; })) {
    return {};
  }
  Dims before(static_cast<std::size_t>(x.rank), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -x.rank || axes[i] >= x.rank) return {};
    before[static_cast<std::size_t>(from_front(axes[i], x.rank))] = pads[i];
  }
  return before;
}

Status check_pad(const sluice_op& op) {
  const std::string_view mode = plugin::Attributes(op).get_text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    return plugin::unimplemented("unknown mode");
  }
  if (op.body != nullptr) return plugin::unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.layout != SLUICE_LAYOUT_ROW_MAJOR ||
      op.outputs[0].tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return plugin::unimplemented("blocked layout");
  }
  if (plugin::element_bits(x.element_type) < 8) return plugin::unimplemented("parts of bytes");
  if (has_input(op, 2) && op.inputs[2].tensor.element_type != x.element_type) {
    return plugin::unimplemented("a value of another type");
  }
  return pads_before(op).empty() ? plugin::unimplemented("pads at run time") : plugin::ok();
}

Status make_pad(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  const bool is_empty = plugin::num_elements(op.inputs[0].tensor) == 0 ||
                        plugin::num_elements(op.outputs[0].tensor) == 0;
  const bool has_no_value = has_input(op, 2) && plugin::num_elements(op.inputs[2].tensor) != 1;
  if (is_empty || has_no_value) return plugin::unimplemented("Pad of nothing");
  *kernel = std::make_unique<Pad>(op, pads_before(op));
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> pad_entries() {
  return {{.kind = "Pad", .check = check_pad, .make = make_pad}};
}

}  // namespace sluice::cpu
