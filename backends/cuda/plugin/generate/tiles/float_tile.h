// Device code of a tile for f32: a thread has 8 x 4 or 8 x 8 sums in registers.
#pragma once

namespace sluice::cuda {

/// As kHalfLoadersText; all copies are asynchronous.
extern const char* const kFloatLoadersText;

/// As kHalfGathererText.
extern const char* const kFloatGathererText;

/// As kHalfTileText; kRun = 4.
extern const char* const kFloatTileText;

}  // namespace sluice::cuda
