// Concat and Split: runs of bytes. In c16 an operand's channels are whole blocks, or they are
// shifted into place pixel by pixel.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/elements/move_plane.h"
#include "ops/operands/blocked.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::Attributes;
using plugin::unimplemented;

constexpr std::int64_t kBlockChannels = 16;

bool is_blocked(const sluice_tensor& tensor) { return tensor.layout == SLUICE_LAYOUT_C16; }

std::span<const sluice_operand> parts_of(const sluice_op& op, bool joins) {
  return joins ? plugin::inputs_of(op) : plugin::outputs_of(op);
}

const sluice_tensor& whole_of(const sluice_op& op, bool joins) {
  return joins ? op.outputs[0].tensor : op.inputs[0].tensor;
}

std::int64_t axis_of(const sluice_op& op) {
  return from_front(Attributes(op).get_int("axis"), op.outputs[0].tensor.rank);
}

/// Every part but the last ends with a block; not where channels are unknown.
bool joins_whole_blocks(const sluice_op& op, bool joins) {
  const auto parts = parts_of(op, joins);
  return !is_blocked(whole_of(op, joins)) || axis_of(op) != 1 ||
         std::all_of(parts.begin(), parts.end() - 1, [](const sluice_operand& part) {
           return part.tensor.dims[1] > 0 && part.tensor.dims[1] % kBlockChannels == 0;
         });
}

Status check(const sluice_op& op, bool joins) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& whole = whole_of(op, joins);
  const std::int64_t axis = Attributes(op).get_int("axis");
  if (whole.rank == 0 || axis < -whole.rank || axis >= whole.rank) {
    return unimplemented("axis out of range");
  }
  if (plugin::element_bits(whole.element_type) < 8) {
    return unimplemented("elements that are not whole bytes");
  }
  for (const sluice_operand& part : parts_of(op, joins)) {
    if (plugin::is_absent(part.tensor)) return unimplemented("absent parts");
    if (part.tensor.layout != whole.layout) return unimplemented("operands of unlike layouts");
    if (part.tensor.rank != whole.rank) return unimplemented("operands of unlike ranks");
    for (int d = 0; d < whole.rank; ++d) {
      const bool is_axis = d == (axis < 0 ? axis + whole.rank : axis);
      if (!is_axis && part.tensor.dims[d] != whole.dims[d]) {
        return plugin::invalid_argument("parts differ from the whole beside the axis");
      }
    }
  }
  if (is_blocked(whole) && whole.element_type != plugin::kF32) return unimplemented("not f32");
  return plugin::ok();
}

/// One operand's part of every row of the joined tensor.
struct Part {
  std::int64_t offset_bytes;
  std::int64_t bytes;
};

/// The whole is rows of parts, side by side. Concat copies into it, Split out of it.
///
///     row:  | part 0 | part 1 | ... |   a part of a row is contiguous on both sides
///
/// Parts that are an element or two are columns of a plane, which move_plane copies.
class Join : public Kernel {
 public:
  Join(const sluice_op& op, Isa isa, bool joins)
      : Kernel(op), joins_(joins), move_(SLUICE_CPU_PICK(isa, move_plane)) {
    const sluice_tensor& whole = whole_of(op, joins);
    const std::int64_t axis = axis_of(op);
    const std::int64_t bytes = element_bytes(whole);
    const Dims dims = memory_dims(whole);
    const auto rank = static_cast<std::int64_t>(dims.size());
    rows_ = product(dims, 0, axis);
    row_bytes_ = product(dims, axis, rank) * bytes;
    std::int64_t offset = 0;
    for (const sluice_operand& part : parts_of(op, joins)) {
      const std::int64_t length = product(memory_dims(part.tensor), axis, rank) * bytes;
      parts_.push_back({offset, length});
      offset += length;
    }
  }

  void run(const Run& run, int, const Worker& worker) const override {
    // Rows first; a single row is cut by its bytes.
    const bool by_rows = rows_ >= worker.count;
    const Share rows = by_rows ? share_of(rows_, 1, worker) : Share{0, rows_};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Share bytes =
          by_rows ? Share{0, parts_[i].bytes} : share_of(parts_[i].bytes, 64, worker);
      copy_part(run, static_cast<int>(i), rows, bytes);
    }
  }
  void extents(Extents& extents) const override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const int part = static_cast<int>(i);
      joins_ ? extents.reads(part, {rows_, parts_[i].bytes})
             : extents.writes(part, {rows_, parts_[i].bytes});
    }
    const std::int64_t all = parts_.empty() ? 0 : parts_.back().offset_bytes + parts_.back().bytes;
    joins_ ? extents.writes(0, {rows_, all}) : extents.reads(0, {rows_, all});
  }
  double cost_ns() const override { return static_cast<double>(rows_ * row_bytes_) * 0.1; }

 private:
  void copy_part(const Run& run, int index, Share rows, Share bytes) const {
    const Part& part = parts_[static_cast<std::size_t>(index)];
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes.end - bytes.begin, 0));
    if (size == 0) return;
    if (is_column(part) && size == static_cast<std::size_t>(part.bytes)) {
      return move_column(run, index, rows);
    }
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const std::int64_t in_whole = r * row_bytes_ + part.offset_bytes + bytes.begin;
      const std::int64_t in_part = r * part.bytes + bytes.begin;
      if (joins_) {
        std::memcpy(run.output<std::byte>(0) + in_whole, run.input<std::byte>(index) + in_part,
                    size);
      } else {
        std::memcpy(run.output<std::byte>(index) + in_part, run.input<std::byte>(0) + in_whole,
                    size);
      }
    }
  }

  /// Whether the part of a row is a number that move_plane knows, at a multiple of its size.
  bool is_column(const Part& part) const {
    const std::int64_t bytes = part.bytes;
    return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) &&
           row_bytes_ % bytes == 0 && part.offset_bytes % bytes == 0;
  }

  void move_column(const Run& run, int index, Share rows) const {
    const Part& part = parts_[static_cast<std::size_t>(index)];
    const std::int64_t in_whole = rows.begin * row_bytes_ + part.offset_bytes;
    const std::int64_t in_part = rows.begin * part.bytes;
    const std::int64_t step = row_bytes_ / part.bytes;
    PlaneMove move = {nullptr, nullptr, 0, 1, 0, 1, 1, rows.end - rows.begin};
    if (joins_) {
      move.from = run.input<std::byte>(index) + in_part;
      move.to = run.output<std::byte>(0) + in_whole;
      move.to_col = step;
    } else {
      move.from = run.input<std::byte>(0) + in_whole;
      move.to = run.output<std::byte>(index) + in_part;
      move.from_col = step;
    }
    move_(move, part.bytes);
  }

  bool joins_;
  decltype(&portable::move_plane) move_;
  std::int64_t rows_ = 0;
  std::int64_t row_bytes_ = 0;
  std::vector<Part> parts_;
};

/// Concat along the channels of c16 where blocks do not end together: worker by pixels.
class ShiftedJoin : public Kernel {
 public:
  explicit ShiftedJoin(const sluice_op& op) : Kernel(op) {
    const sluice_tensor& whole = op.outputs[0].tensor;
    batch_ = whole.dims[0];
    blocks_ = memory_dims(whole)[1];
    pixels_ = product(plugin::dims_of(whole), 2, whole.rank);
    std::int64_t first = 0;
    for (const sluice_operand& part : plugin::inputs_of(op)) {
      parts_.push_back({first, part.tensor.dims[1], memory_dims(part.tensor)[1]});
      first += part.tensor.dims[1];
    }
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share pixels = share_of(pixels_, 16, worker);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto* from = run.input<float>(static_cast<int>(i));
      for (std::int64_t n = 0; n < batch_; ++n) {
        for (std::int64_t c = 0; c < parts_[i].channels;) {
          c += copy_run(parts_[i], c, from + n * parts_[i].blocks * pixels_ * kBlockChannels,
                        run.output<float>(0) + n * blocks_ * pixels_ * kBlockChannels, pixels);
        }
      }
    }
  }
  void extents(Extents& extents) const override {
    constexpr std::int64_t kBlockBytes = kBlockChannels * 4;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      extents.reads(static_cast<int>(i), {batch_, parts_[i].blocks, pixels_, kBlockBytes});
    }
    const std::int64_t channels = parts_.empty() ? 0 : parts_.back().first + parts_.back().channels;
    extents.writes(
        0, {batch_, (channels + kBlockChannels - 1) / kBlockChannels, pixels_, kBlockBytes});
  }
  double cost_ns() const override {
    return static_cast<double>(batch_ * blocks_ * pixels_ * kBlockChannels) * 0.4;
  }

 private:
  struct ChannelPart {
    std::int64_t first;  ///< channel of the whole
    std::int64_t channels;
    std::int64_t blocks;
  };

  /// Copies the channels from `c` on that lie in one block on either side; returns how many.
  std::int64_t copy_run(const ChannelPart& part, std::int64_t c, const float* from, float* to,
                        const Share& pixels) const {
    const std::int64_t target = part.first + c;
    const std::int64_t count =
        std::min({kBlockChannels - c % kBlockChannels, kBlockChannels - target % kBlockChannels,
                  part.channels - c});
    from += c / kBlockChannels * pixels_ * kBlockChannels + c % kBlockChannels;
    to += target / kBlockChannels * pixels_ * kBlockChannels + target % kBlockChannels;
    for (std::int64_t p = pixels.begin; p < pixels.end; ++p) {
      std::memcpy(to + p * kBlockChannels, from + p * kBlockChannels,
                  static_cast<std::size_t>(count) * sizeof(float));
    }
    return count;
  }

  std::int64_t batch_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t pixels_ = 0;
  std::vector<ChannelPart> parts_;
};

Status check_concat(const sluice_op& op) { return check(op, true); }
Status check_split(const sluice_op& op) {
  if (Status status = check(op, false); !status.is_ok()) return status;
  return joins_whole_blocks(op, false) ? plugin::ok() : unimplemented("parts of blocks");
}

Status make_concat(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (joins_whole_blocks(op, true)) {
    *kernel = std::make_unique<Join>(op, isa, true);
  } else {
    *kernel = std::make_unique<ShiftedJoin>(op);
  }
  return plugin::ok();
}

Status make_split(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<Join>(op, isa, false);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> join_entries() {
  return {{.kind = "Concat", .check = check_concat, .make = make_concat},
          {.kind = "Split", .check = check_split, .make = make_split}};
}

}  // namespace sluice::cpu
