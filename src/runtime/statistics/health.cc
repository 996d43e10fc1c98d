#include "runtime/statistics/health.h"

#include <algorithm>
#include <utility>

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

constexpr std::int64_t kTolerated = 100;  // a model is degraded from one error in this many replies

std::int64_t count_of(const ModelStatisticsSnapshot& statistics, RuntimeCode code) {
  const auto found = std::ranges::find(statistics.answered, code, &terms::CodeCount::code);
  return found == statistics.answered.end() ? 0 : found->count;
}

}  // namespace

terms::Health health_of(const ModelStatisticsSnapshot& statistics, bool has_failed) {
  if (has_failed) {
    return {
        terms::HealthState::kFailed, "its device was lost",
        "reset its device, then the model; where a device has no reset, start this process anew or "
        "load the model elsewhere"};
  }
  if (count_of(statistics, RuntimeCode::kDeviceError) > 0) {
    return {terms::HealthState::kDegraded, "its device was lost and came back",
            "watch the device; replace it if that happens again"};
  }
  const std::int64_t total = statistics.num_answered();
  for (const RuntimeCode code : {RuntimeCode::kCompletedWithError, RuntimeCode::kTimeout}) {
    const std::int64_t count = count_of(statistics, code);
    if (count == 0 || count * kTolerated < total) continue;
    return {terms::HealthState::kDegraded,
            fmt::format("{} of {} answers were \"{}\"", count, total, terms::describe(code).name),
            std::string(terms::describe(code).remedy)};
  }
  return {};
}

terms::Health worse(terms::Health requests, terms::Health hardware) {
  return hardware.state < requests.state ? std::move(requests) : std::move(hardware);
}

}  // namespace sluice::runtime
