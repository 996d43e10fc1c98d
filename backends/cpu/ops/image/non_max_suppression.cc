// NonMaxSuppression.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum SuppressionInput { kBoxes, kScores, kMostPerClass, kMostOverlap, kLeastScore };

/// Corners in order, whichever way round a box was given.
struct Box {
  double top, left, bottom, right, area;
};

Box box_of(const float* values, bool is_centre) {
  const double a = values[0], b = values[1], c = values[2], d = values[3];
  Box box = is_centre ? Box{b - d / 2, a - c / 2, b + d / 2, a + c / 2, 0}
                      : Box{std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d), 0};
  box.area = (box.bottom - box.top) * (box.right - box.left);
  return box;
}

/// Whether the intersection over the union is above `most`.
bool overlaps(const Box& a, const Box& b, double most) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0 > most;
  const double shared = height * width;
  return shared / (a.area + b.area - shared) > most;
}

/// A heap gives the candidates best first: most of them are never asked for. One worker does it,
/// because how many boxes of a class are chosen says where those of the next go.
class NonMaxSuppression : public Kernel {
 public:
  explicit NonMaxSuppression(const sluice_op& op)
      : Kernel(op), is_centre_(plugin::Attributes(op).get_int("center_point_box") != 0) {
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
      Choice choice = {boxes, run.input<float>(kScores) + i * boxes_,
                       reinterpret_cast<Box*>(worker.scratch), 0};
      auto* order = reinterpret_cast<std::int32_t*>(choice.chosen + boxes_);
      const std::int64_t count = choose(run, choice, order);
      if (row + count > rows_) {
        return run.fail(
            plugin::invalid_argument("NonMaxSuppression: the output is too small for its boxes"));
      }
      for (std::int64_t k = 0; k < count; ++k, ++row) {
        std::int64_t* to = run.output<std::int64_t>(0) + 3 * row;
        to[0] = i / classes_;
        to[1] = i % classes_;
        to[2] = order[k];
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
    return boxes_ * static_cast<std::int64_t>(sizeof(Box) + 2 * sizeof(std::int32_t));
  }
  double cost_ns() const override {
    return static_cast<double>(images_ * classes_) * static_cast<double>(boxes_) * 10;
  }

 private:
  struct Choice {
    const float* boxes;
    const float* scores;
    Box* chosen;
    std::int64_t count;
  };

  template <typename T>
  T number(const Run& run, int input, T fallback) const {
    if (!has_input(op(), input)) return fallback;
    return plugin::num_elements(op().inputs[input].tensor) == 1 ? *run.input<T>(input) : fallback;
  }

  /// Writes the chosen boxes of one class, best first, to `order`, behind which is room for as many
  /// candidates as there are boxes.
  std::int64_t choose(const Run& run, Choice& choice, std::int32_t* order) const {
    const std::int64_t limit = number<std::int64_t>(run, kMostPerClass, 0);
    const double most = number<float>(run, kMostOverlap, 0);
    const bool is_bounded =
        has_input(op(), kLeastScore) && plugin::num_elements(op().inputs[kLeastScore].tensor) == 1;
    const float least = number<float>(run, kLeastScore, 0);
    const float* scores = choice.scores;
    // Boxes whose score is NaN follow all others; of equal ones the first goes first.
    const auto is_worse = [&](std::int32_t a, std::int32_t b) {
      const float x = scores[a], y = scores[b];
      const bool leads = x > y || (x == x && y != y);
      const bool follows = y > x || (y == y && x != x);
      return follows || (!leads && a > b);
    };
    std::int32_t* candidates = order + boxes_;
    std::int32_t* end = candidates;
    for (std::int64_t i = 0; i < boxes_; ++i) {
      if (!is_bounded || scores[i] > least) *end++ = static_cast<std::int32_t>(i);
    }
    std::make_heap(candidates, end, is_worse);
    while (end > candidates && choice.count < limit) {
      const std::int32_t best = *candidates;
      std::pop_heap(candidates, end--, is_worse);
      const Box box = box_of(choice.boxes + std::int64_t{best} * 4, is_centre_);
      const bool is_free =
          std::none_of(choice.chosen, choice.chosen + choice.count,
                       [&](const Box& other) { return overlaps(box, other, most); });
      if (!is_free) continue;
      choice.chosen[choice.count] = box;
      order[choice.count++] = best;
    }
    return choice.count;
  }

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

Status make_non_max_suppression(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  const auto boxes = dims_of(op.inputs[kBoxes].tensor);
  const auto scores = dims_of(op.inputs[kScores].tensor);
  if (boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] ||
      dims_of(op.outputs[0].tensor)[1] != 3 || boxes[1] > INT32_MAX) {
    return unimplemented("boxes, scores and output that do not fit");
  }
  *kernel = std::make_unique<NonMaxSuppression>(op);
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
