// CUDA C++ text of one kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/backend.hpp"

namespace sluice::cuda {

using plugin::Status;

/// The name of every generated kernel.
inline constexpr const char* kKernelName = "sluice_kernel";

/// A kernel made for one operation with known dimensions. Its text depends on nothing else, so
/// equal operations have equal texts. It needs built-in functions of CUDA alone.
struct Source {
  std::string text;
  std::array<unsigned, 3> grid = {0, 1, 1};  // [0] is 0: there is nothing to compute
  std::array<unsigned, 3> block = {1, 1, 1};
  /// The operands whose addresses are the parameters, in order: numbers of the inputs, then the
  /// body's inputs; -1 - i is output i.
  std::vector<int> operands;
  bool is_masked = false;  ///< as mask_kernel rewrites it (confine/masked_kernel.h)
};

}  // namespace sluice::cuda
