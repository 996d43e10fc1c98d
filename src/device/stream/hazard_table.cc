#include "device/stream/hazard_table.h"

#include <algorithm>

namespace sluice::device {
namespace {

bool conflict(const Access& a, const Access& b) {
  return (a.is_write || b.is_write) && a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::vector<std::size_t> HazardTable::add(std::size_t stream, std::span<const Access> accesses) {
  std::vector<std::size_t> waits;
  std::vector<std::uint64_t>& known = known_[stream];
  // The latest work comes first: a wait for its stream covers what that stream waited for.
  for (auto work = works_.rbegin(); work != works_.rend(); ++work) {
    const std::size_t other = work->stream;
    if (other == stream || known[other] >= work->number) continue;
    const bool has_conflict = std::ranges::any_of(
        accesses, [&](const Access& access) { return conflict(access, work->access); });
    if (!has_conflict) continue;
    waits.push_back(other);
    known[other] = num_works_[other];
    for (std::size_t i = 0; i < known.size(); ++i) {
      known[i] = std::max(known[i], known_[other][i]);
    }
  }
  const std::uint64_t number = ++num_works_[stream];
  for (const Access& access : accesses) works_.push_back({stream, number, access});
  return waits;
}

}  // namespace sluice::device
