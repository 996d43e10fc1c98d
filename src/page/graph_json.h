// The graph of a model, for a drawing.
#pragma once

#include <cstddef>
#include <string>

#include "package/executable.h"

namespace sluice::page {

/// Limit of operations that are drawn.
inline constexpr std::size_t kMaxDrawn = 4000;

/// One JSON object: `num_operations`, and `operations` of the main subgraph in their order, at most
/// kMaxDrawn, each with `kind` ("Conv+Relu"), `name`, `backend` ("" for the executor's), `type` of
/// its first output, and `inputs`: the places of the operations whose results it reads.
std::string graph_json(const package::Executable& executable);

}  // namespace sluice::page
