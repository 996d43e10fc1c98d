#include <algorithm>
#include <array>

#include "backend/command_list.h"
#include "backend/extensions/virtual_time.h"
#include "backend/memory.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "compile/profile/measure.h"

namespace sluice::compile {
namespace {

constexpr std::int64_t kSmallBytes = 4096;
constexpr std::int64_t kLargeBytes = std::int64_t{4} << 20;

/// The least of a few copies from the host to device 0.
Result<double> copy_ns(const std::shared_ptr<const backend::Group>& group, const Clock& clock,
                       std::int64_t size_bytes) {
  MutableBytes host(static_cast<std::size_t>(size_bytes));
  std::ranges::fill(host.view(), std::byte{1});
  const auto memory =
      SLUICE_TRY(backend::DeviceMemory::allocate(group->shared_backend(), 0, size_bytes));
  auto list = SLUICE_TRY(backend::CommandList::create(group));
  SLUICE_TRY(list.add_copy(backend::bound_argument(0, 0), backend::fixed_argument(memory.address()),
                           size_bytes));
  SLUICE_TRY(list.finish());
  auto stream = SLUICE_TRY(backend::Stream::create(group));
  const std::array<void*, 1> bindings = {host.view().data()};
  double least_ns = 0;
  for (int run = 0; run < 5; ++run) {
    const std::int64_t start_ns = clock.now_ns();
    SLUICE_TRY(stream.submit(list, bindings));
    SLUICE_TRY(stream.wait());
    const auto time_ns = static_cast<double>(clock.now_ns() - start_ns);
    least_ns = run == 0 ? time_ns : std::min(least_ns, time_ns);
  }
  return least_ns;
}

}  // namespace

Result<TransferCost> host_transfer(const std::shared_ptr<const backend::Backend>& backend) {
  if (backend->devices()[0].has_host_memory) return TransferCost();
  std::shared_ptr<const Clock> simulated;
  if (backend->devices()[0].is_simulated) {
    simulated = SLUICE_TRY(backend::VirtualTime::of(backend));
  }
  const Clock& clock = simulated ? *simulated : system_clock();
  const std::array<std::int32_t, 1> cores = {0};
  const auto group = SLUICE_TRY(backend::Group::create(backend, 0, cores));
  const double small_ns = SLUICE_TRY(copy_ns(group, clock, kSmallBytes));
  const double large_ns = SLUICE_TRY(copy_ns(group, clock, kLargeBytes));
  const double ns_per_byte =
      std::max(0.0, large_ns - small_ns) / static_cast<double>(kLargeBytes - kSmallBytes);
  return TransferCost{std::max(0.0, small_ns - ns_per_byte * kSmallBytes), ns_per_byte};
}

}  // namespace sluice::compile
