#include "runtime/model/load_plan.h"

#include <algorithm>
#include <optional>

#include "base/text/plural.h"
#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

/// The length of the longest run of cores on one device.
std::int32_t longest_run(std::span<const terms::CoreRef> cores) {
  std::int32_t most = 0, run = 0;
  for (std::size_t at = 0; at < cores.size(); ++at) {
    run = at > 0 && cores[at].device == cores[at - 1].device ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

/// The first `count` consecutive cores from `begin` on that lie on one device; nullopt if none do.
/// Moves `begin` behind them.
std::optional<std::vector<terms::CoreRef>> take_run(std::span<const terms::CoreRef> cores,
                                                    std::size_t& begin, std::int32_t count) {
  const auto wanted = static_cast<std::size_t>(count);
  for (std::size_t at = begin; at + wanted <= cores.size(); ++at) {
    // The list is ordered by device, so first and last on one device mean all of them.
    if (cores[at].device != cores[at + wanted - 1].device) continue;
    begin = at + wanted;
    return std::vector<terms::CoreRef>(cores.begin() + static_cast<std::ptrdiff_t>(at),
                                       cores.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return std::nullopt;
}

std::optional<LoadPlan> plan_normal(std::span<const SegmentNeed> needs,
                                    std::span<const terms::CoreRef> cores) {
  LoadPlan plan;
  std::size_t begin = 0;
  for (const SegmentNeed& need : needs) {
    plan.cores.emplace_back();
    if (!need.is_on_group) continue;
    const std::int32_t count = need.cores > 0 ? need.cores : longest_run(cores.subspan(begin));
    auto run = take_run(cores, begin, count);
    if (!run) return std::nullopt;
    plan.cores.back() = std::move(*run);
  }
  return plan;
}

std::optional<LoadPlan> plan_shared(std::span<const SegmentNeed> needs,
                                    std::span<const terms::CoreRef> cores) {
  std::size_t begin = 0;
  const auto run = take_run(cores, begin, cores_for_shared(needs));
  if (!run) return std::nullopt;
  LoadPlan plan = {terms::LoadMode::kShared, {}};
  for (const SegmentNeed& need : needs) {
    plan.cores.emplace_back();
    if (need.is_on_group) plan.cores.back() = *run;
  }
  return plan;
}

}  // namespace

std::int32_t cores_for_normal(std::span<const SegmentNeed> needs) {
  std::int32_t total = 0;
  for (const SegmentNeed& need : needs) total += need.is_on_group ? need.cores : 0;
  return std::max(total, 1);
}

std::int32_t cores_for_shared(std::span<const SegmentNeed> needs) {
  std::int32_t most = 1;
  for (const SegmentNeed& need : needs) most = std::max(most, need.is_on_group ? need.cores : 0);
  return most;
}

bool takes_all_cores(std::span<const SegmentNeed> needs) {
  return std::ranges::any_of(
      needs, [](const SegmentNeed& need) { return need.is_on_group && need.cores == 0; });
}

std::vector<std::int32_t> parts_of_range(std::span<const SegmentNeed> needs) {
  std::vector<std::int32_t> parts;
  for (const SegmentNeed& need : needs) {
    if (need.is_on_group) parts.push_back(need.cores);
  }
  return parts;
}

Result<LoadPlan> plan_load(std::span<const SegmentNeed> needs,
                           std::span<const terms::CoreRef> cores, bool may_share) {
  if (auto plan = plan_normal(needs, cores)) return std::move(*plan);
  if (may_share) {
    if (auto plan = plan_shared(needs, cores)) return std::move(*plan);
  }
  return terms::runtime_error(RuntimeCode::kNotEnoughCores,
                              "the model needs {}, {} in shared mode, those of a segment on one "
                              "device; the group has {}",
                              counted(cores_for_normal(needs), "core"), cores_for_shared(needs),
                              cores.size());
}

}  // namespace sluice::runtime
