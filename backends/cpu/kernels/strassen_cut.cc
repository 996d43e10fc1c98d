#include "kernels/strassen.h"

namespace sluice::cpu {
namespace {

/// Blocks with fewer rows read their panel of B for too little work, those with fewer columns their
/// sums of A; those of less depth are added to C more often than they are worth.
constexpr std::int64_t kLeastRows = 32;
constexpr std::int64_t kLeastColumns = 48;
constexpr std::int64_t kLeastDepth = 96;
/// Of all blocks of a stretch together.
constexpr std::int64_t kMostDepth = 768;

}  // namespace

StrassenCut find_strassen_cut(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t levels) {
  if (levels > kStrassenMaxLevels) levels = kStrassenMaxLevels;
  for (; levels > 0; --levels) {
    if (m >> levels < kLeastRows || n >> levels < kLeastColumns) continue;
    const std::int64_t grain = std::int64_t{16} << levels;
    for (std::int64_t count = (k + kMostDepth - 1) / kMostDepth;
         count > 0 && k / count >> levels >= kLeastDepth; ++count) {
      if (k % (count * grain) == 0) return {static_cast<int>(levels), count};
    }
  }
  return {};
}

}  // namespace sluice::cpu
