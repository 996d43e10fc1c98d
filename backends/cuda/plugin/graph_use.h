// When command lists become CUDA graphs.
#pragma once

#include <string_view>

#include "sluice/backend.hpp"

namespace sluice::cuda {

enum class GraphUse {
  kNone,      ///< every command is submitted by itself
  kRepeated,  ///< from the second submission with the same addresses on
  kAlways,    ///< from the first, for tests
};

/// What the option `graphs` asks for; without it, the variable SLUICE_CUDA_GRAPHS.
/// Fails: INVALID_ARGUMENT  another word than none, repeated, always
plugin::Status parse_graph_use(std::string_view text, GraphUse* use);
/// The variable's text; "repeated" if it is not set.
std::string_view usual_graph_use();

}  // namespace sluice::cuda
