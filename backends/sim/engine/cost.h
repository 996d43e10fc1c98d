// How long kernels and copies take.
#pragma once

#include <cstdint>
#include <string>

#include "description/description.h"

namespace sluice::sim {

/// What the cost model knows of an operation; all dimensions known.
struct Work {
  std::string kind;  ///< "Conv", "sluice::Elementwise"
  double flops = 0;
  double bytes = 0;     ///< read and written
  double elements = 0;  ///< of output 0
};

/// Multiply-adds of convolutions and matrix products count two; other operators one per element
/// of their largest operand, and as many per step of a fused body.
Work work_of(const sluice_op& op);

/// On `num_cores` cores, without jitter and faults.
std::int64_t kernel_ns(const Compute& compute, const Work& work, int num_cores);

std::int64_t copy_ns(const CopyPath& path, std::int64_t size_bytes);

}  // namespace sluice::sim
