// Operators that copy or fill whole runs of elements: Trilu, ReverseSequence, ConstantOfShape,
// EyeLike.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/copy/one_copy.h"
#include "plugin/registry.h"
#include "reference/tensors.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

// ---- Trilu: each row of a matrix keeps its begin or its end

/// Element (r, c) stays if c >= r + k, or c <= r + k for the lower triangle.
class Triangle : public Kernel {
 public:
  explicit Triangle(const sluice_op& op)
      : Kernel(op),
        bytes_(element_bytes(op.inputs[0].tensor)),
        rows_(op.inputs[0].tensor.dims[op.inputs[0].tensor.rank - 2]),
        columns_(op.inputs[0].tensor.dims[op.inputs[0].tensor.rank - 1]),
        matrices_(product(dims_of(op.inputs[0].tensor), 0, op.inputs[0].tensor.rank - 2)),
        is_upper_(plugin::Attributes(op).get_int("upper", 1) != 0) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t given = has_input(op(), 1) ? run.input<std::int64_t>(1)[0] : 0;
    // Beyond these bounds no row changes any more. Inside them r + k cannot overflow.
    const std::int64_t k = std::clamp(given, -rows_ - 1, columns_ + 1);
    const Share share = share_of(matrices_ * rows_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t cut =
          std::clamp<std::int64_t>(i % rows_ + k + (is_upper_ ? 0 : 1), 0, columns_);
      const std::byte* from = run.input<std::byte>(0) + i * columns_ * bytes_;
      std::byte* to = run.output<std::byte>(0) + i * columns_ * bytes_;
      const Share kept = is_upper_ ? Share{cut, columns_} : Share{0, cut};
      const auto size = [&](std::int64_t count) {
        return static_cast<std::size_t>(count * bytes_);
      };
      std::memset(to, 0, size(kept.begin));
      std::memmove(to + kept.begin * bytes_, from + kept.begin * bytes_,
                   size(kept.end - kept.begin));
      std::memset(to + kept.end * bytes_, 0, size(columns_ - kept.end));
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {matrices_, rows_, columns_, bytes_});
    if (has_input(op(), 1)) extents.reads(1, {sizeof(std::int64_t)});
    extents.writes(0, {matrices_, rows_, columns_, bytes_});
  }
  double cost_ns() const override {
    return static_cast<double>(matrices_ * rows_) *
           (10 + static_cast<double>(columns_ * bytes_) * 0.1);
  }

 private:
  std::int64_t bytes_, rows_, columns_, matrices_;
  bool is_upper_;
};

Status check_triangle(const sluice_op& op) {
  if (op.inputs[0].tensor.rank < 2 || op.outputs[0].tensor.rank != op.inputs[0].tensor.rank) {
    return unimplemented("other ranks");
  }
  if (has_input(op, 1) && op.inputs[1].tensor.element_type != plugin::kI64) {
    return unimplemented("a diagonal of another type");
  }
  return check_movable(op);
}

Status make_triangle(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  const bool is_fit = same_dims(op.inputs[0].tensor, op.outputs[0].tensor) &&
                      plugin::num_elements(op.inputs[0].tensor) > 0 &&
                      (!has_input(op, 1) || plugin::num_elements(op.inputs[1].tensor) == 1);
  if (!is_fit) return unimplemented("shapes that do not fit");
  *kernel = std::make_unique<Triangle>(op);
  return plugin::ok();
}

// ---- ReverseSequence: [a][b][inner], of which the steps of each batch item turn round

class Reversal : public Kernel {
 public:
  Reversal(const sluice_op& op, bool is_time_first)
      : Kernel(op),
        outer_(op.inputs[0].tensor.dims[0]),
        second_(op.inputs[0].tensor.dims[1]),
        bytes_(product(dims_of(op.inputs[0].tensor), 2, op.inputs[0].tensor.rank) *
               element_bytes(op.inputs[0].tensor)),
        is_time_first_(is_time_first) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const auto* lengths = run.input<std::int64_t>(1);
    const std::int64_t steps = is_time_first_ ? outer_ : second_;
    const std::int64_t items = is_time_first_ ? second_ : outer_;
    for (std::int64_t i = 0; worker.index == 0 && i < items; ++i) {
      if (lengths[i] < 0 || lengths[i] > steps) {
        run.fail(reference::length_outside(op(), lengths[i], steps));
        break;
      }
    }
    const Share share = share_of(outer_ * second_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t time = is_time_first_ ? i / second_ : i % second_;
      const std::int64_t item = is_time_first_ ? i % second_ : i / second_;
      const std::int64_t length = std::clamp<std::int64_t>(lengths[item], 0, steps);
      const std::int64_t from = time < length ? length - 1 - time : time;
      const std::int64_t at = is_time_first_ ? from * second_ + item : item * second_ + from;
      std::memcpy(run.output<std::byte>(0) + i * bytes_, run.input<std::byte>(0) + at * bytes_,
                  static_cast<std::size_t>(bytes_));
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {outer_, second_, bytes_});
    extents.reads(1, {is_time_first_ ? second_ : outer_, sizeof(std::int64_t)});
    extents.writes(0, {outer_, second_, bytes_});
  }
  double cost_ns() const override {
    return static_cast<double>(outer_ * second_) * (10 + static_cast<double>(bytes_) * 0.1);
  }

 private:
  std::int64_t outer_, second_, bytes_;
  bool is_time_first_;
};

Status check_reversal(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const plugin::Attributes attributes(op);
  const std::int64_t time = attributes.get_int("time_axis", 0);
  const std::int64_t batch = attributes.get_int("batch_axis", 1);
  if (time < 0 || time > 1 || batch != 1 - time || op.inputs[0].tensor.rank < 2) {
    return unimplemented("other axes");
  }
  if (op.inputs[1].tensor.element_type != plugin::kI64)
    return unimplemented("lengths of another type");
  return check_movable(op);
}

Status make_reversal(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  const bool is_time_first = plugin::Attributes(op).get_int("time_axis", 0) == 0;
  const sluice_tensor& x = op.inputs[0].tensor;
  const bool is_fit = same_dims(x, op.outputs[0].tensor) && plugin::num_elements(x) > 0 &&
                      plugin::num_elements(op.inputs[1].tensor) == x.dims[is_time_first ? 1 : 0];
  if (!is_fit) return unimplemented("shapes that do not fit");
  *kernel = std::make_unique<Reversal>(op, is_time_first);
  return plugin::ok();
}

// ---- ConstantOfShape, EyeLike: one value everywhere, or zeros and a diagonal of ones

/// Fills `count` elements of `bytes` each.
void fill_elements(std::byte* to, const std::byte* value, std::int64_t bytes, std::int64_t count) {
  if (count == 0) return;
  const bool is_one_byte =
      std::all_of(value, value + bytes, [value](std::byte byte) { return byte == *value; });
  if (is_one_byte) {  // of zeros above all
    std::memset(to, std::to_integer<int>(*value), static_cast<std::size_t>(bytes * count));
    return;
  }
  std::int64_t done = bytes;
  const std::int64_t all = count * bytes;
  std::memcpy(to, value, static_cast<std::size_t>(bytes));
  for (; done < all; done *= 2) {  // each time as much again as there is, up to a near page
    constexpr std::int64_t kPage = 4096;
    if (done >= kPage) break;
    std::memcpy(to + done, to, static_cast<std::size_t>(std::min(done, all - done)));
  }
  for (; done < all; done += std::min(done, all - done)) {
    const std::int64_t piece = std::min(done, all - done);
    std::memcpy(to + done, to, static_cast<std::size_t>(piece));
  }
}

class Filling : public Kernel {
 public:
  Filling(const sluice_op& op, const void* value)
      : Kernel(op),
        bytes_(element_bytes(op.outputs[0].tensor)),
        elements_(plugin::num_elements(op.outputs[0].tensor)) {
    if (value != nullptr) std::memcpy(value_, value, static_cast<std::size_t>(bytes_));
  }

  void run(const Run& run, int, const Worker& worker) const override {
    constexpr std::int64_t kGrain = 4096;
    const Share share = share_of(elements_, kGrain, worker);
    std::byte* to = run.output<std::byte>(0);
    for (std::int64_t at = share.begin; at < share.end; at += kGrain) {
      fill_elements(to + at * bytes_, value_, bytes_, std::min(kGrain, share.end - at));
    }
  }
  void extents(Extents& extents) const override { extents.writes(0, {elements_, bytes_}); }
  double cost_ns() const override { return static_cast<double>(elements_ * bytes_) * 0.05; }

 private:
  std::int64_t bytes_, elements_;
  std::byte value_[16] = {};
};

bool is_whole_bytes(const sluice_tensor& t) {
  const int bits = plugin::element_bits(t.element_type);
  return bits >= 8 && bits <= 128 && t.element_type != plugin::kString &&
         t.layout == SLUICE_LAYOUT_ROW_MAJOR;
}

Status check_filling(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor* value = plugin::Attributes(op).get_tensor("value");
  if (!is_whole_bytes(op.outputs[0].tensor))
    return unimplemented("elements that are not whole bytes");
  const bool is_fit = value == nullptr
                          ? op.outputs[0].tensor.element_type == plugin::kF32
                          : plugin::num_elements(*value) == 1 && value->data != nullptr &&
                                value->element_type == op.outputs[0].tensor.element_type;
  return is_fit ? plugin::ok() : unimplemented("a value of another type");
}

Status make_filling(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor* value = plugin::Attributes(op).get_tensor("value");
  *kernel = std::make_unique<Filling>(op, value == nullptr ? nullptr : value->data);
  return plugin::ok();
}

class Diagonal : public Kernel {
 public:
  explicit Diagonal(const sluice_op& op)
      : Kernel(op),
        bytes_(element_bytes(op.outputs[0].tensor)),
        rows_(op.outputs[0].tensor.dims[0]),
        columns_(op.outputs[0].tensor.dims[1]),
        k_(std::clamp(plugin::Attributes(op).get_int("k"), -rows_ - 1, columns_ + 1)) {
    const sluice_element_type type = op.outputs[0].tensor.element_type;
    const float single = 1;
    const double wide = 1;
    one_[0] = std::byte{1};
    if (type == plugin::kF32) std::memcpy(one_, &single, sizeof single);
    if (type == plugin::kF64) std::memcpy(one_, &wide, sizeof wide);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(rows_, 1, worker);
    const std::int64_t row = columns_ * bytes_;
    std::byte* to = run.output<std::byte>(0);
    std::memset(to + share.begin * row, 0,
                static_cast<std::size_t>((share.end - share.begin) * row));
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t at = i + k_;
      if (at < 0 || at >= columns_) continue;
      std::memcpy(to + i * row + at * bytes_, one_, static_cast<std::size_t>(bytes_));
    }
  }
  void extents(Extents& extents) const override { extents.writes(0, {rows_, columns_, bytes_}); }
  double cost_ns() const override { return static_cast<double>(rows_ * columns_ * bytes_) * 0.05; }

 private:
  std::int64_t bytes_, rows_, columns_, k_;
  std::byte one_[8] = {};
};

/// Little-endian integers, bools, and the common floats.
Status check_diagonal(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& y = op.outputs[0].tensor;
  switch (y.element_type) {
    case plugin::kF32:
    case plugin::kF64:
    case plugin::kBool:
    case plugin::kU8:
    case plugin::kI8:
    case plugin::kI32:
    case plugin::kI64: break;
    default: return unimplemented("other types");
  }
  const bool is_fit =
      y.rank == 2 && op.inputs[0].tensor.rank == 2 && y.layout == SLUICE_LAYOUT_ROW_MAJOR;
  return is_fit ? plugin::ok() : unimplemented("other ranks or layouts");
}

Status make_diagonal(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  if (!same_dims(op.inputs[0].tensor, op.outputs[0].tensor)) return unimplemented("another shape");
  *kernel = std::make_unique<Diagonal>(op);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> line_entries() {
  return {{.kind = "Trilu", .check = check_triangle, .make = make_triangle},
          {.kind = "ReverseSequence",
           .check = check_reversal,
           .make = make_reversal,
           .num_required_inputs = 2},
          {.kind = "ConstantOfShape", .check = check_filling, .make = make_filling},
          {.kind = "EyeLike", .check = check_diagonal, .make = make_diagonal}};
}

}  // namespace sluice::cpu
