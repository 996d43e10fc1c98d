// Device code that moves elements to shared memory.
//
// A kernel names its factors by structs `A` and `B`. Their constants kAlongK, kStride, kExtent and
// kVector are those of Factor; `offset(o)` is the offset of line `o`, in elements. Where b is
// gathered, kTaps is the number of elements of a window, `Taps` an integer with a bit for each,
// `locate(o, offset, taps)` finds the window of pixel `o` and which of its taps lie in the image,
// and `step(k)` is the offset of element `k` of a window.
#pragma once

#include <string>

#include "plugin/generate/text/runs.h"
#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

/// The structs `A` and `B` of the product.
std::string factors_text(const Product& product);

/// `copy<kBytes>(to, from, is_there)` to shared memory, behind the kernel's back where the
/// architecture can; `close_copies()`, `await_copies<kNewest>()`, `shared_address(place)`.
extern const char* const kAsyncText;

/// Functions that fill shared memory step by step.
/// Requires ahead of it: kAsyncText, the constants of a tile, `T`.
extern const char* const kCopiesText;

}  // namespace sluice::cuda
