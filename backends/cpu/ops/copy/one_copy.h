#pragma once

#include <utility>

#include "ops/copy/strided_copy.h"
#include "ops/operands/checks.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// Ok if elements are whole bytes in row-major order, and nothing is fused.
Status check_movable(const sluice_op& op);

inline Dims dense_strides(std::span<const std::int64_t> dims) {
  return broadcast_strides(dims, dims);
}

/// One strided copy from input 0 to output 0.
class OneCopy : public Kernel {
 public:
  OneCopy(const sluice_op& op, StridedCopy copy, std::int64_t offset_elements = 0)
      : Kernel(op),
        copy_(std::move(copy)),
        offset_bytes_(offset_elements * element_bytes(op.inputs[0].tensor)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    copy_.run(run.input<std::byte>(0) + offset_bytes_, run.output<std::byte>(0), worker);
  }
  void extents(Extents& extents) const override {
    const Reach reach = copy_.reach();
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const bool is_far = __builtin_mul_overflow(reach.lowest, copy_.element_bytes(), &begin) ||
                        __builtin_mul_overflow(reach.end, copy_.element_bytes(), &end) ||
                        __builtin_add_overflow(begin, offset_bytes_, &begin) ||
                        __builtin_add_overflow(end, offset_bytes_, &end);
    if (copy_.elements() > 0) extents.reads_between(0, is_far ? -1 : begin, end);
    extents.writes(0, {copy_.elements(), copy_.element_bytes()});
  }
  double cost_ns() const override { return copy_.cost_ns(); }

 private:
  StridedCopy copy_;
  std::int64_t offset_bytes_;
};

}  // namespace sluice::cpu
