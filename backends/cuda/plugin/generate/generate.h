// CUDA C++ text for operations.
#pragma once

#include <cstdint>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

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
