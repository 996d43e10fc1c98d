#include "kernels/image/box_overlap.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Boxes that a step looks at: whether they touch is asked first, because most do not, and a
/// division takes longer than all other operations together.
constexpr std::int64_t kStep = 16;

/// What two boxes have in common.
struct Common {
  double height;
  double width;
};

SLUICE_CPU_INLINE Common common_of(const BoxColumns& boxes, std::int64_t i, const Box& box) {
  const double bottom = boxes.bottom[i] < box.bottom ? boxes.bottom[i] : box.bottom;
  const double top = box.top < boxes.top[i] ? boxes.top[i] : box.top;
  const double right = boxes.right[i] < box.right ? boxes.right[i] : box.right;
  const double left = box.left < boxes.left[i] ? boxes.left[i] : box.left;
  return {bottom - top, right - left};
}

SLUICE_CPU_INLINE bool is_nothing(const Common& common) {
  return (common.height <= 0) | (common.width <= 0);
}

SLUICE_CPU_INLINE bool overlaps_within(const BoxColumns& boxes, std::int64_t from, std::int64_t to,
                                       const Box& box, double most) {
  int found = 0;
  for (std::int64_t i = from; i < to; ++i) {
    const Common common = common_of(boxes, i, box);
    // It has two uses, so that no compiler joins its product to the difference: results are those
    // of the reference kernel to the last bit.
    const double shared = common.height * common.width;
    const double share = shared / (box.area + boxes.area[i] - shared);
    found |= (is_nothing(common) ? 0.0 : share) > most ? 1 : 0;
  }
  return found != 0;
}

}  // namespace

bool overlaps_any(const BoxColumns& boxes, const Box& box, double most) {
  std::int64_t i = 0;
  for (; i + kStep <= boxes.count; i += kStep) {
    int touching = most < 0 ? 1 : 0;  // then boxes that do not touch count, too
    for (std::int64_t k = i; k < i + kStep; ++k) {
      touching |= is_nothing(common_of(boxes, k, box)) ? 0 : 1;
    }
    if (touching != 0 && overlaps_within(boxes, i, i + kStep, box, most)) return true;
  }
  return overlaps_within(boxes, i, boxes.count, box, most);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
