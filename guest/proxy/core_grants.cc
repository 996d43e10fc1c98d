#include "guest/proxy/core_grants.h"

namespace sluice::guest {

using cuda::CuResult;

/// The context ends first: its multiprocessors are free then.
CoreGrant::~CoreGrant() {
  context_ = nullptr;
  grants_.give(units_);
}

CuResult CoreGrants::take(std::int32_t num_cores, std::unique_ptr<CoreGrant>* grant) {
  if (num_cores < 1) return CuResult::kInvalidValue;
  const std::lock_guard lock(mutex_);
  if (unit_sizes_.empty()) {
    if (!partitions_.unit_sizes(&unit_sizes_).is_ok()) {
      return CuResult::kInvalidResourceConfiguration;
    }
    is_taken_.resize(unit_sizes_.size());
  }
  std::vector<std::size_t> units;
  for (std::size_t unit = 0; unit < unit_sizes_.size() && num_cores > 0; ++unit) {
    if (is_taken_[unit]) continue;
    units.push_back(unit);
    num_cores -= unit_sizes_[unit];
  }
  if (num_cores > 0) return CuResult::kInvalidResourceConfiguration;
  return make_locked(units, grant);
}

CuResult CoreGrants::make_locked(const std::vector<std::size_t>& units,
                                 std::unique_ptr<CoreGrant>* grant) {
  std::vector<std::int32_t> cores;
  for (const std::size_t unit : units) {
    const auto first = static_cast<std::int32_t>(unit) * unit_sizes_.front();
    for (std::int32_t i = 0; i < unit_sizes_[unit]; ++i) cores.push_back(first + i);
  }
  std::unique_ptr<cuda::GreenContext> context;
  if (!partitions_.make(cores, &context).is_ok()) return CuResult::kInvalidResourceConfiguration;
  const auto num_cores = static_cast<std::int32_t>(cores.size());
  auto made = std::make_unique<CoreGrant>(*this, units, num_cores, std::move(context));
  for (const std::size_t unit : units) is_taken_[unit] = true;
  *grant = std::move(made);
  return CuResult::kSuccess;
}

void CoreGrants::give(const std::vector<std::size_t>& units) {
  const std::lock_guard lock(mutex_);
  for (const std::size_t unit : units) is_taken_[unit] = false;
}

}  // namespace sluice::guest
