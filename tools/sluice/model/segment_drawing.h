// The segments of a compiled model as an SVG picture.
#pragma once

#include <string>

#include "compile/explain.h"

namespace sluice::tool {

/// A box per segment in order of execution, coloured by backend, and an arrow with its bytes for
/// the tensors that pass from one segment to another. A complete SVG document; names from the
/// model are escaped.
std::string draw_segments(const compile::Explanation& explanation);

}  // namespace sluice::tool
