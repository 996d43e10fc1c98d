#include "emulator/ptx/memory/copies.h"

#include <algorithm>

namespace sluice::cuda::ptx {

std::vector<AsyncCopy> Copies::take(int lane, std::uint64_t newest, bool all) {
  const std::uint64_t closed = closed_[static_cast<std::size_t>(lane)];
  const std::uint64_t end =
      newest > closed ? 0 : closed - newest;  // groups below it are waited for
  std::vector<AsyncCopy> taken;
  const auto keep =
      std::stable_partition(pending_.begin(), pending_.end(), [&](const Pending& pending) {
        return pending.copy.lane != lane || (!all && pending.group >= end);
      });
  for (auto it = keep; it != pending_.end(); ++it) taken.push_back(it->copy);
  pending_.erase(keep, pending_.end());
  return taken;
}

}  // namespace sluice::cuda::ptx
