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
  /// Two parameters follow the operands: the words of an IndexReport, and the number of the launch.
  bool reports_indices = false;
  bool is_chosen = false;  ///< the text is of the tactic that the operation names (tactics.h)
  bool is_masked = false;  ///< as mask_kernel rewrites it (confine/masked_kernel.h)
};

/// Words of 64 bits in device memory, 0 before a launch. The first thread that meets an index
/// outside of its axis fills them.
struct IndexReport {
  static constexpr std::size_t kLaunch = 0;  ///< the number that the launch was given, above 0
  static constexpr std::size_t kIndex = 1;   ///< as it stands in the tensor
  static constexpr std::size_t kAxis = 2;
  static constexpr std::size_t kExtent = 3;
  static constexpr std::size_t kNumWords = 4;
};

}  // namespace sluice::cuda
