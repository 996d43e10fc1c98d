// Rows of 8 bits, each with its scale behind: what sluice::RoundRows makes.
#pragma once

#include <cstdint>

namespace sluice::cuda {

/// Bytes of a row's scale, an f32 behind its numbers; the low byte comes first.
inline constexpr std::int64_t kScaleBytes = 4;

}  // namespace sluice::cuda
