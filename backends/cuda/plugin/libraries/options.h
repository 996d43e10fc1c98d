// Whether and where NVIDIA's libraries are used.
#pragma once

#include <string>
#include <string_view>

#include "sluice/backend.hpp"

namespace sluice::cuda {

struct LibraryOptions {
  bool are_used = false;
  bool are_measured = false;    ///< used where they are faster than the generated kernel
  bool rounds_to_tf32 = false;  ///< libraries may round factors of f32 to 10 bits of mantissa
  bool convolve = true;         ///< by cuDNN; products do not depend on it
  std::string cublaslt = {};    ///< the file; empty: the usual ones
  std::string cudnn = {};       ///< as above
};

/// What the option `libraries` asks for: `use`, `none`, `measure`, which uses them where they are
/// faster, or `tf32`, which uses them and lets them round. Without the option, the variable
/// SLUICE_CUDA_LIBRARIES.
/// Fails: INVALID_ARGUMENT  another word
plugin::Status parse_libraries(std::string_view text, LibraryOptions* options);
/// The variable's text; "use" if it is not set.
std::string_view usual_libraries();

}  // namespace sluice::cuda
