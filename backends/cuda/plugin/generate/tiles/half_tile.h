// Device code of a tile for f16 and bf16: products on matrix units, sums in f32.
#pragma once

namespace sluice::cuda {

/// `Loader<M, kOuter>`, which copies lines of the factor M to shared memory, step by step:
///   fetch(tile, k)   starts the copies of elements from k on
///   settle(tile)     puts what passes through registers there
/// Requires ahead of it: the constants of a tile, `T`, factors_text, kCopiesText.
extern const char* const kHalfLoadersText;

/// `Gatherer<M, kOuter>`, a loader of a factor that is gathered (Gathering).
extern const char* const kHalfGathererText;

/// `load_matrices<kIsTurned>(to, from)`, four matrices of 8 x 8 from shared memory, and
/// `gather_piece(pieces)`, which gives each lane neighbours of a row of sums.
/// Requires ahead of it: `T`, kAsyncText.
extern const char* const kMatricesText;

/// `compute_tile(a, b, place, finish)` calls finish(row, column, run of kRun sums) for the tile.
/// Requires ahead of it: kMatricesText, `multiply`, types `LoadA` and `LoadB`; kRun = 8.
extern const char* const kHalfTileText;

/// `multiply(sums, a, b)`, one instruction of the matrix units, for a type.
extern const char* const kMultiplyF16Text;
extern const char* const kMultiplyBf16Text;

}  // namespace sluice::cuda
