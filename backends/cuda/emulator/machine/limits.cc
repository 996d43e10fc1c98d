#include "emulator/machine/limits.h"

#include <algorithm>
#include <array>

namespace sluice::cuda::emulator {
namespace {

constexpr int kKiB = 1024;

/// From "Technical Specifications per Compute Capability", an appendix of the CUDA programming
/// guide, and from cuda_occupancy.h of the toolkit 13.
constexpr std::array kLimits = {
    Limits{"7.5", 7, 5, 1024, 16, 64 * kKiB},    Limits{"8.0", 8, 0, 2048, 32, 164 * kKiB},
    Limits{"8.6", 8, 6, 1536, 16, 100 * kKiB},   Limits{"8.7", 8, 7, 1536, 16, 164 * kKiB},
    Limits{"8.9", 8, 9, 1536, 24, 100 * kKiB},   Limits{"9.0", 9, 0, 2048, 32, 228 * kKiB},
    Limits{"10.0", 10, 0, 2048, 32, 228 * kKiB}, Limits{"10.3", 10, 3, 2048, 32, 228 * kKiB},
    Limits{"12.0", 12, 0, 1536, 24, 100 * kKiB}, Limits{"12.1", 12, 1, 1536, 24, 100 * kKiB},
};

}  // namespace

const Limits* find_limits(std::string_view capability) {
  const auto* const found = std::ranges::find(kLimits, capability, &Limits::capability);
  return found != kLimits.end() ? found : nullptr;
}

const Limits& limits_of(const DeviceDescription& device) {
  return *std::ranges::find_if(kLimits, [&](const Limits& limits) {
    return limits.major == device.major && limits.minor == device.minor;
  });
}

}  // namespace sluice::cuda::emulator
