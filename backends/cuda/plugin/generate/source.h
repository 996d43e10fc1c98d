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
  /// body's inputs. The address of output 0 comes last.
  std::vector<int> operands;
};

/// Ok if a kernel can be generated for `op`, whose dimensions may be unknown. UNIMPLEMENTED says
/// what is missing.
Status check_op(const sluice_op& op);

/// Writes the kernel. Requires: every dimension is known.
/// Fails: as check_op; UNIMPLEMENTED where the sizes pass what a launch can have.
Status generate(const sluice_op& op, Source* source);

/// The inputs whose memory output 0 may have, a bit each: the thread that writes an element is the
/// only one that reads it there.
std::uint32_t in_place_inputs(const sluice_op& op);

}  // namespace sluice::cuda
