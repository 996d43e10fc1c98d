#include "emulator/ptx/memory/copies.h"

namespace sluice::cuda::ptx {

std::vector<AsyncCopy> Copies::take(std::uint32_t mask, std::uint64_t newest, bool all) {
  std::vector<AsyncCopy> taken;
  std::size_t kept = 0;
  for (const Pending& pending : pending_) {
    const auto lane = static_cast<std::size_t>(pending.copy.lane);
    const std::uint64_t closed = closed_[lane];
    const std::uint64_t end = newest > closed ? 0 : closed - newest;  // groups below it are awaited
    if ((mask >> lane & 1) != 0 && (all || pending.group < end)) {
      taken.push_back(pending.copy);
    } else {
      pending_[kept++] = pending;
    }
  }
  pending_.resize(kept);
  return taken;
}

}  // namespace sluice::cuda::ptx
