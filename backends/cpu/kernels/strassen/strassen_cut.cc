#include "kernels/strassen/strassen.h"

namespace sluice::cpu {
namespace {

/// Smallest blocks that gain. With fewer rows a panel of B is read for too little work; with fewer
/// columns the same holds for sums of A; with less depth the additions to X cost too much.
constexpr std::int64_t kLeastRows = 32;
constexpr std::int64_t kLeastColumns = 48;
constexpr std::int64_t kLeastDepth = 96;
/// Depth of a stretch, over all its blocks: deeper ones lost 0.01 to 0.03 with two workers.
constexpr std::int64_t kMaxDepth = 768;

}  // namespace

StrassenCut find_strassen_cut(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t levels) {
  if (levels > kStrassenMaxLevels) levels = kStrassenMaxLevels;
  for (; levels > 0; --levels) {
    if (m >> levels < kLeastRows || n >> levels < kLeastColumns) continue;
    const std::int64_t grain = std::int64_t{16} << levels;
    for (std::int64_t count = (k + kMaxDepth - 1) / kMaxDepth;
         count > 0 && k / count >> levels >= kLeastDepth; ++count) {
      if (k % (count * grain) == 0) return {static_cast<int>(levels), count};
    }
  }
  return {};
}

}  // namespace sluice::cpu
