// NonMaxSuppression.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "kernels/image/box_overlap.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum SuppressionInput { kBoxes, kScores, kMostPerClass, kMostOverlap, kLeastScore };

Box box_of(const float* values, bool is_centre) {
  const double a = values[0], b = values[1], c = values[2], d = values[3];
  Box box = is_centre ? Box{b - d / 2, a - c / 2, b + d / 2, a + c / 2, 0}
                      : Box{std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d), 0};
  box.area = (box.bottom - box.top) * (box.right - box.left);
  return box;
}

void append(const Box& box, BoxColumns& columns) {
  const std::int64_t i = columns.count++;
  columns.top[i] = box.top;
  columns.left[i] = box.left;
  columns.bottom[i] = box.bottom;
  columns.right[i] = box.right;
  columns.area[i] = box.area;
}

/// A number that is larger the earlier a candidate goes: the bits of its score in their order, then
/// its place. Both zeros are alike, and NaNs follow all others.
std::uint64_t key_of(float score, std::int64_t place) {
  const auto bits = score == 0 ? 0U : std::bit_cast<std::uint32_t>(score);
  const std::uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
  return std::uint64_t{score != score ? 0 : ascending} << 32 |
         (UINT32_MAX - static_cast<std::uint32_t>(place));
}

std::int32_t place_of(std::uint64_t key) {
  return static_cast<std::int32_t>(UINT32_MAX - static_cast<std::uint32_t>(key));
}

/// A heap gives the candidates best first: most of them are never asked for. One worker does it,
/// because how many boxes of a class are chosen says where those of the next go.
class NonMaxSuppression : public Kernel {
 public:
  NonMaxSuppression(const sluice_op& op, Isa isa)
      : Kernel(op),
        overlaps_any_(SLUICE_CPU_PICK(isa, overlaps_any)),
        is_centre_(plugin::Attributes(op).get_int("center_point_box") != 0) {
    const auto scores = dims_of(op.inputs[kScores].tensor);
    images_ = scores[0];
    classes_ = scores[1];
    boxes_ = scores[2];
    rows_ = dims_of(op.outputs[0].tensor)[0];
  }

  bool is_serial() const override { return true; }

  void run(const Run& run, int, const Worker& worker) const override {
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < images_ * classes_; ++i) {
      const float* boxes = run.input<float>(kBoxes) + i / classes_ * boxes_ * 4;
      Scratch scratch(worker.scratch, boxes_);
      const std::int64_t count =
          choose(run, boxes, run.input<float>(kScores) + i * boxes_, scratch);
      if (row + count > rows_) {
        return run.fail(
            plugin::invalid_argument("NonMaxSuppression: the output is too small for its boxes"));
      }
      for (std::int64_t k = 0; k < count; ++k, ++row) {
        std::int64_t* to = run.output<std::int64_t>(0) + 3 * row;
        to[0] = i / classes_;
        to[1] = i % classes_;
        to[2] = scratch.order[k];
      }
    }
    if (std::int64_t* dims = run.actual_dims()[0]; dims != nullptr) {
      dims[0] = row;
      dims[1] = 3;
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(kBoxes, {images_, boxes_, 4, sizeof(float)});
    extents.reads(kScores, {images_, classes_, boxes_, sizeof(float)});
    extents.writes(0, {rows_, 3, sizeof(std::int64_t)});
  }
  std::int64_t scratch_bytes() const override {
    return boxes_ *
           static_cast<std::int64_t>(sizeof(Box) + sizeof(std::uint64_t) + sizeof(std::int32_t));
  }
  double cost_ns() const override {
    return static_cast<double>(images_ * classes_) * static_cast<double>(boxes_) * 10;
  }

 private:
  /// Arrays of as many elements as there are boxes.
  struct Scratch {
    Scratch(std::byte* base, std::int64_t boxes) {
      auto* numbers = reinterpret_cast<double*>(base);
      for (double** column :
           {&chosen.top, &chosen.left, &chosen.bottom, &chosen.right, &chosen.area}) {
        *column = numbers;
        numbers += boxes;
      }
      candidates = reinterpret_cast<std::uint64_t*>(numbers);
      order = reinterpret_cast<std::int32_t*>(candidates + boxes);
    }
    BoxColumns chosen;
    std::uint64_t* candidates;  ///< a heap of keys
    std::int32_t* order;        ///< places of the chosen ones, best first
  };

  template <typename T>
  T number(const Run& run, int input, T fallback) const {
    if (!has_input(op(), input)) return fallback;
    return plugin::num_elements(op().inputs[input].tensor) == 1 ? *run.input<T>(input) : fallback;
  }

  /// How many boxes of one class are chosen; `scratch` gets them.
  std::int64_t choose(const Run& run, const float* boxes, const float* scores,
                      Scratch& scratch) const {
    const std::int64_t limit = number<std::int64_t>(run, kMostPerClass, 0);
    const double most = number<float>(run, kMostOverlap, 0);
    const bool is_bounded =
        has_input(op(), kLeastScore) && plugin::num_elements(op().inputs[kLeastScore].tensor) == 1;
    const float least = number<float>(run, kLeastScore, 0);
    BoxColumns& chosen = scratch.chosen;
    std::uint64_t* end = scratch.candidates;
    for (std::int64_t i = 0; i < boxes_; ++i) {
      *end = key_of(scores[i], i);
      end += !is_bounded || scores[i] > least ? 1 : 0;
    }
    std::make_heap(scratch.candidates, end);
    while (end > scratch.candidates && chosen.count < limit) {
      const std::int32_t best = place_of(*scratch.candidates);
      std::pop_heap(scratch.candidates, end--);
      const Box box = box_of(boxes + std::int64_t{best} * 4, is_centre_);
      if (overlaps_any_(chosen, box, most)) continue;
      scratch.order[chosen.count] = best;
      append(box, chosen);
    }
    return chosen.count;
  }

  decltype(&portable::overlaps_any) overlaps_any_;
  bool is_centre_;
  std::int64_t images_ = 0, classes_ = 0, boxes_ = 0;
  std::int64_t rows_ = 0;  ///< that the output has room for
};

Status check_non_max_suppression(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  constexpr sluice_element_type kTypes[] = {plugin::kF32, plugin::kF32, plugin::kI64, plugin::kF32,
                                            plugin::kF32};
  for (int i = 0; i < std::min(op.num_inputs, 5); ++i) {
    if (has_input(op, i) && op.inputs[i].tensor.element_type != kTypes[i]) {
      return unimplemented("operands of other types");
    }
  }
  if (op.outputs[0].tensor.element_type != plugin::kI64) return unimplemented("not i64");
  const bool fits = op.inputs[kBoxes].tensor.rank == 3 && op.inputs[kScores].tensor.rank == 3 &&
                    op.outputs[0].tensor.rank == 2;
  return fits ? plugin::ok() : unimplemented("other ranks");
}

Status make_non_max_suppression(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto boxes = dims_of(op.inputs[kBoxes].tensor);
  const auto scores = dims_of(op.inputs[kScores].tensor);
  if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      dims_of(op.outputs[0].tensor)[1] != 3 || boxes[1] > INT32_MAX) {
    return unimplemented("boxes, scores and output that do not fit");
  }
  *kernel = std::make_unique<NonMaxSuppression>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> non_max_suppression_entries() {
  return {{.kind = "NonMaxSuppression",
           .check = check_non_max_suppression,
           .make = make_non_max_suppression,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
