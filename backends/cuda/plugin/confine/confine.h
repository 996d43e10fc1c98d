// How a core group keeps its kernels on its multiprocessors.
#pragma once

#include <string_view>

#include "sluice/backend.hpp"

namespace sluice::cuda {

enum class Confine {
  kNothing,   ///< kernels run on all of the device
  kContexts,  ///< a group is a green context of the driver (driver/partitions.h)
  kMasks,     ///< kernels leave the multiprocessors that a mask forbids (masked_kernel.h)
};

/// What the option `confine` asks for; without it, the variable SLUICE_CUDA_CONFINE.
/// Fails: INVALID_ARGUMENT  another word than none, contexts, masks
plugin::Status parse_confine(std::string_view text, Confine* confine);
/// The variable's text; "none" if it is not set.
std::string_view usual_confine();

}  // namespace sluice::cuda
