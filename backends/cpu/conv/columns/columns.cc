#include "conv/columns/columns.h"

#include <algorithm>

#include "kernels/image/add_rows.h"

namespace sluice::cpu {
namespace {

// With numbers up to 2^30 a position p * stride + t * dilation stays far below 2^63.
constexpr std::int64_t kLargest = std::int64_t{1} << 30;

/// Reads an attribute of `count` numbers into `to`; leaves `to` as it is if the attribute is
/// absent. Returns false if there are other than `count` numbers, or one is out of range.
bool read_numbers(const sluice_op& op, const char* name, std::size_t count, std::int64_t least,
                  std::int64_t* to) {
  const auto given = plugin::Attributes(op).get_ints(name);
  for (std::size_t i = 0; i < given.size() && given.size() == count; ++i) {
    if (given[i] < least || given[i] > kLargest) return false;
    to[i] = given[i];
  }
  return given.empty() || given.size() == count;
}

/// Padding that makes the windows cover the image, the odd one behind or in front.
void pad_same(bool is_upper, ColumnWindow* w) {
  for (int d = 0; d < ColumnWindow::kAxes; ++d) {
    const std::int64_t covered =
        (w->windows[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, covered - w->image[d]);
    w->pad[d] = is_upper ? total / 2 : (total + 1) / 2;
    w->pad_end[d] = total - w->pad[d];
  }
}

/// Those of some windows along an axis whose tap at `shift` lies inside the image.
Share inside(const ColumnWindow& w, int axis, std::int64_t shift, Share windows) {
  const std::int64_t stride = w.stride[axis];
  // The first window with shift + i * stride >= 0, and the first with shift + i * stride >= size.
  const std::int64_t from = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t to = shift >= w.image[axis] ? 0 : (w.image[axis] - 1 - shift) / stride + 1;
  const std::int64_t low = std::clamp(from, windows.begin, windows.end);
  return {low, std::clamp(to, low, windows.end)};
}

/// Calls `visit(tap row begin, row of the plane or -1, first window, end, shift)` for the part of
/// each row of windows that lies in [first, first + count), for each tap.
template <typename Visit>
void for_each_segment(const ColumnWindow& w, std::int64_t first, std::int64_t count,
                      const Visit& visit) {
  const std::int64_t width = w.windows[2];
  const std::int64_t end = first + count;
  for (std::int64_t row = first / width; row * width < end; ++row) {
    const std::int64_t begin = std::max(first - row * width, std::int64_t{0});
    const std::int64_t stop = std::min(end - row * width, width);
    const std::int64_t at = row * width + begin - first;
    std::int64_t tap = 0;
    for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd) {
      const std::int64_t d = row / w.windows[1] * w.stride[0] + kd * w.dilation[0] - w.pad[0];
      for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
        const std::int64_t h = row % w.windows[1] * w.stride[1] + kh * w.dilation[1] - w.pad[1];
        const bool is_inside = d >= 0 && d < w.image[0] && h >= 0 && h < w.image[1];
        const std::int64_t line = is_inside ? (d * w.image[1] + h) * w.image[2] : -1;
        for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, ++tap) {
          visit(tap, at, line, Share{begin, stop}, kw * w.dilation[2] - w.pad[2]);
        }
      }
    }
  }
}

/// Rows of windows of one slice, in each of them the windows `columns`.
struct WindowBlock {
  std::int64_t at = 0;  ///< of its first window, among all
  std::int64_t slice = 0;
  Share rows;
  Share columns;
};

/// Cuts windows [first, first + count) into blocks: parts of a row at the ends, between them as
/// many whole rows as a slice has.
template <typename Visit>
void for_each_block(const ColumnWindow& w, std::int64_t first, std::int64_t count,
                    const Visit& visit) {
  const std::int64_t width = w.windows[2];
  for (std::int64_t at = 0; at < count;) {
    const std::int64_t column = (first + at) % width;
    const std::int64_t row = (first + at) / width;
    const std::int64_t in_slice = row % w.windows[1];
    const bool is_whole = column == 0 && count - at >= width;
    const std::int64_t rows =
        is_whole ? std::min((count - at) / width, w.windows[1] - in_slice) : 1;
    const Share columns = {column, is_whole ? width : std::min(width, column + count - at)};
    visit(WindowBlock{at, row / w.windows[1], {in_slice, in_slice + rows}, columns});
    at += rows * (columns.end - columns.begin);
  }
}

}  // namespace

bool ColumnWindow::is_identity() const {
  for (int d = 0; d < kAxes; ++d) {
    if (kernel[d] != 1 || stride[d] != 1 || pad[d] != 0 || windows[d] != image[d]) return false;
  }
  return true;
}

bool ColumnWindow::is_tiling() const {
  for (int d = 0; d < kAxes; ++d) {
    const bool meets_all = kernel[d] == stride[d] && image[d] == windows[d] * stride[d];
    if (!meets_all || pad[d] != 0 || dilation[d] != 1) return false;
  }
  return stride[2] > 1;
}

Status read_column_window(const sluice_op& op, std::span<const std::int64_t> kernel,
                          std::span<const std::int64_t> windows,
                          std::span<const std::int64_t> image, ColumnWindow* w) {
  const std::size_t rank = image.size();
  if (rank < 1 || rank > ColumnWindow::kAxes || kernel.size() != rank || windows.size() != rank) {
    return plugin::unimplemented("a window of other axes");
  }
  const std::size_t skipped = ColumnWindow::kAxes - rank;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const std::int64_t dim : {kernel[i], windows[i], image[i]}) {
      if (dim < 1 || dim > kLargest) return plugin::unimplemented("a window without extent");
    }
    w->kernel[skipped + i] = kernel[i];
    w->windows[skipped + i] = windows[i];
    w->image[skipped + i] = image[i];
  }
  std::int64_t pads[2 * ColumnWindow::kAxes] = {};
  const auto auto_pad = plugin::Attributes(op).get_text("auto_pad", "NOTSET");
  const bool is_fit = read_numbers(op, "strides", rank, 1, w->stride + skipped) &&
                      read_numbers(op, "dilations", rank, 1, w->dilation + skipped) &&
                      (auto_pad != "NOTSET" || read_numbers(op, "pads", 2 * rank, 0, pads));
  if (!is_fit) return plugin::unimplemented("attributes of the window");
  std::copy_n(pads, rank, w->pad + skipped);
  std::copy_n(pads + rank, rank, w->pad_end + skipped);
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") pad_same(auto_pad == "SAME_UPPER", w);
  return plugin::ok();
}

// A row of columns is one row of windows shifted by a tap:
//
//     all.begin       some.begin              some.end      all.end
//     |    padding    |  pixels of the image  |   padding   |
//
// `to` is moved back by `all.begin`, so that to[i] belongs to window i. Where the padding lies is
// found once for all channels: it would take longer than the copy of a row.
template <typename T>
void fill_columns(const ColumnWindow& w, std::int64_t first, std::int64_t count,
                  const FilledColumns<T>& filled) {
  const std::int64_t channel_columns = w.taps() * filled.row;
  for_each_segment(w, first, count, [&](auto tap, auto at, auto line, Share all, auto shift) {
    const Share some = line < 0 ? Share{all.end, all.end} : inside(w, 2, shift, all);
    T* to = filled.columns + tap * filled.row + at - all.begin;
    const T* from = filled.plane + line + shift;
    for (std::int64_t c = 0; c < filled.channels; ++c) {
      std::fill(to + all.begin, to + some.begin, filled.padding);
      if (w.stride[2] == 1) {
        if (some.begin < some.end) std::copy(from + some.begin, from + some.end, to + some.begin);
      } else {
        for (std::int64_t i = some.begin; i < some.end; ++i) to[i] = from[i * w.stride[2]];
      }
      std::fill(to + some.end, to + all.end, filled.padding);
      to += channel_columns;
      from += filled.plane_size;
    }
  });
}

template void fill_columns(const ColumnWindow&, std::int64_t, std::int64_t,
                           const FilledColumns<float>&);
template void fill_columns(const ColumnWindow&, std::int64_t, std::int64_t,
                           const FilledColumns<std::uint8_t>&);

namespace {

/// What add_columns was given.
struct Added {
  const ColumnWindow& w;
  const float* columns;
  std::int64_t row;  ///< from one tap to the next
  float* plane;
  bool replaces = false;
  float bias = 0;
};

/// Neighbouring windows meet neighbouring pixels: each row of the image gets all its rows of
/// columns at once.
class NeighbourAdder {
 public:
  NeighbourAdder(const Added& added, const WindowBlock& block, Isa isa)
      : added_(added), w_(added.w), block_(block), add_(SLUICE_CPU_PICK(isa, add_shifted_rows)) {
    for (std::int64_t kw = 0; kw < std::min(w_.kernel[2], kMostRows); ++kw)
      shifted_[kw] = shifted(kw);
  }

  void run() {
    const std::int64_t first = block_.rows.begin * w_.stride[1] - w_.pad[1];
    const std::int64_t last =
        (block_.rows.end - 1) * w_.stride[1] - w_.pad[1] + (w_.kernel[1] - 1) * w_.dilation[1];
    for (std::int64_t kd = 0; kd < w_.kernel[0]; ++kd) {
      const std::int64_t d = block_.slice * w_.stride[0] + kd * w_.dilation[0] - w_.pad[0];
      if (d < 0 || d >= w_.image[0]) continue;
      const std::int64_t end = std::min(last + 1, w_.image[1]);
      for (std::int64_t h = std::max<std::int64_t>(first, 0); h < end;) {
        const std::int64_t rows = std::min(rows_alike(h), end - h);
        add_to(kd, d, h, rows);
        h += rows;
      }
    }
  }

 private:
  static constexpr std::int64_t kMostRows = kMostShiftedRows;

  /// Rows of the image from `h` on that meet windows with the same kernel rows.
  std::int64_t rows_alike(std::int64_t h) const {
    if (w_.stride[1] != 1) return 1;
    std::int64_t rows = w_.image[1];
    for (std::int64_t kh = 0; kh < w_.kernel[1]; ++kh) {
      const std::int64_t window = h + w_.pad[1] - kh * w_.dilation[1];
      if (window < block_.rows.begin) rows = std::min(rows, block_.rows.begin - window);
      if (window >= block_.rows.begin && window < block_.rows.end)
        rows = std::min(rows, block_.rows.end - window);
    }
    return rows;
  }

  void add_to(std::int64_t kd, std::int64_t d, std::int64_t h, std::int64_t rows) {
    float* to = added_.plane + (d * w_.image[1] + h) * w_.image[2];
    for (std::int64_t kh = 0; kh < w_.kernel[1]; ++kh) {
      const std::int64_t above = h + w_.pad[1] - kh * w_.dilation[1];
      const bool is_next = w_.stride[1] == 1;  // a division would take as long as a row
      if (above < 0 || (!is_next && above % w_.stride[1] != 0)) continue;
      const std::int64_t window = is_next ? above : above / w_.stride[1];
      if (window < block_.rows.begin || window >= block_.rows.end) continue;
      collect_taps((kd * w_.kernel[1] + kh) * w_.kernel[2], window, rows, to);
    }
    flush(rows, to);
  }

  /// The taps of one kernel row, which begin at `tap`.
  void collect_taps(std::int64_t tap, std::int64_t window, std::int64_t rows, float* to) {
    const float* line = added_.columns + tap * added_.row + block_.at +
                        (window - block_.rows.begin) * w_.windows[2] - block_.columns.begin;
    for (std::int64_t kw = 0; kw < w_.kernel[2]; ++kw, line += added_.row) {
      const Shifted one = kw < kMostRows ? shifted_[kw] : shifted(kw);
      if (one.begin >= one.end) continue;
      added_rows_[count_++] = {line - one.shift, one.begin, one.end};
      if (count_ == kMostRows) flush(rows, to);
    }
  }

  /// Where a tap of the windows lies in a row of the image; the same for all rows.
  struct Shifted {
    std::int64_t shift, begin, end;
  };
  Shifted shifted(std::int64_t kw) const {
    const std::int64_t shift = kw * w_.dilation[2] - w_.pad[2];
    return {shift, std::max<std::int64_t>(block_.columns.begin + shift, 0),
            std::min(block_.columns.end + shift, w_.image[2])};
  }

  void flush(std::int64_t rows, float* to) {
    if (count_ > 0) {
      add_({added_rows_, count_, w_.windows[2], to, w_.image[2], rows, w_.image[2]});
    }
    count_ = 0;
  }

  const Added& added_;
  const ColumnWindow& w_;
  const WindowBlock& block_;
  decltype(&portable::add_shifted_rows) add_;
  Shifted shifted_[kMostRows];
  ShiftedRow added_rows_[kMostRows];
  std::int64_t count_ = 0;
};

/// Windows that meet pixels apart: tap by tap.
void add_apart(const Added& all, const WindowBlock& block, Isa isa) {
  const auto add = SLUICE_CPU_PICK(isa, add_rows);
  const ColumnWindow& w = all.w;
  std::int64_t tap = 0;
  for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd) {
    const std::int64_t d = block.slice * w.stride[0] + kd * w.dilation[0] - w.pad[0];
    const bool is_inside = d >= 0 && d < w.image[0];
    for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
      const std::int64_t shift_h = kh * w.dilation[1] - w.pad[1];
      const Share rows = is_inside ? inside(w, 1, shift_h, block.rows) : Share{};
      for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, ++tap) {
        const std::int64_t shift_w = kw * w.dilation[2] - w.pad[2];
        const Share some = inside(w, 2, shift_w, block.columns);
        if (rows.begin >= rows.end || some.begin >= some.end) continue;
        const std::int64_t h = rows.begin * w.stride[1] + shift_h;
        AddedRows added;
        added.from = all.columns + tap * all.row + block.at +
                     (rows.begin - block.rows.begin) * w.windows[2] + some.begin -
                     block.columns.begin;
        added.to =
            all.plane + (d * w.image[1] + h) * w.image[2] + some.begin * w.stride[2] + shift_w;
        added.from_row = w.windows[2];
        added.to_row = w.stride[1] * w.image[2];
        added.rows = rows.end - rows.begin;
        added.count = some.end - some.begin;
        added.to_step = w.stride[2];
        added.replaces = all.replaces;
        added.bias = all.bias;
        // The next tap's windows meet the pixels between, where they are the same ones.
        if (w.stride[2] == 2 && w.dilation[2] == 1 && kw + 1 < w.kernel[2]) {
          const Share next = inside(w, 2, shift_w + 1, block.columns);
          if (next.begin == some.begin && next.end == some.end) {
            added.from_between = added.from + all.row;
            ++kw, ++tap;
          }
        }
        add(added);
      }
    }
  }
}

}  // namespace

void add_columns(const ColumnWindow& w, const float* columns, std::int64_t row, std::int64_t first,
                 std::int64_t count, float* plane, Isa isa) {
  const Added added = {w, columns, row, plane};
  for_each_block(w, first, count, [&](const WindowBlock& block) {
    w.stride[2] == 1 ? NeighbourAdder(added, block, isa).run() : add_apart(added, block, isa);
  });
}

void place_columns(const ColumnWindow& w, const float* columns, std::int64_t row,
                   std::int64_t first, std::int64_t count, float bias, float* plane, Isa isa) {
  const Added added = {w, columns, row, plane, true, bias};
  for_each_block(w, first, count, [&](const WindowBlock& block) { add_apart(added, block, isa); });
}

}  // namespace sluice::cpu
