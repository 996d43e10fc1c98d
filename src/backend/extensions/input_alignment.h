// Which addresses of a model's inputs the kernels of a plug-in take.
#pragma once

#include "backend/backend.h"
#include "sluice/extensions/input_alignment.h"

namespace sluice::backend {

/// Bytes that the address of an input is a multiple of, besides the size of its element: kAlignment
/// if the plug-in lacks the extension "sluice.input_alignment/1".
/// Fails: kInternal for a number that is no power of two up to kAlignment.
Result<std::int64_t> input_alignment(const Backend& backend);

}  // namespace sluice::backend
