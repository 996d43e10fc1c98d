#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

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
constexpr int kRuns = 5;

/// Lists on a group, by the clock of its device.
class ListTimer {
 public:
  static Result<ListTimer> create(const std::shared_ptr<const backend::Backend>& backend,
                                  int num_cores) {
    std::shared_ptr<const Clock> simulated;
    if (backend->devices()[0].is_simulated) {
      simulated = SLUICE_TRY(backend::VirtualTime::of(backend));
    }
    std::vector<std::int32_t> cores(static_cast<std::size_t>(
        std::clamp(num_cores, 1, std::max(1, backend->devices()[0].num_cores))));
    std::iota(cores.begin(), cores.end(), 0);
    auto group = SLUICE_TRY(backend::Group::create(backend, 0, cores));
    auto stream = SLUICE_TRY(backend::Stream::create(group));
    return ListTimer(std::move(group), std::move(stream), std::move(simulated));
  }

  /// The least of a few copies: an interrupt or a neighbour lengthens single ones.
  Result<double> copy_ns(std::int64_t size_bytes, bool is_to_device) {
    MutableBytes host(static_cast<std::size_t>(size_bytes));
    std::ranges::fill(host.view(), std::byte{1});
    const auto memory =
        SLUICE_TRY(backend::DeviceMemory::allocate(group_->shared_backend(), 0, size_bytes));
    const sluice_argument here = backend::bound_argument(0, 0);
    const sluice_argument there = backend::fixed_argument(memory.address());
    auto list = SLUICE_TRY(backend::CommandList::create(group_));
    SLUICE_TRY(list.add_copy(is_to_device ? here : there, is_to_device ? there : here, size_bytes));
    SLUICE_TRY(list.finish());
    return least_ns(list, host.view().data());
  }

  Result<double> empty_ns() {
    auto list = SLUICE_TRY(backend::CommandList::create(group_));
    SLUICE_TRY(list.finish());
    return least_ns(list, nullptr);
  }

  /// A line through a small and a large copy.
  Result<TransferCost> transfer(bool is_to_device) {
    const double small_ns = SLUICE_TRY(copy_ns(kSmallBytes, is_to_device));
    const double large_ns = SLUICE_TRY(copy_ns(kLargeBytes, is_to_device));
    const double ns_per_byte =
        std::max(0.0, large_ns - small_ns) / static_cast<double>(kLargeBytes - kSmallBytes);
    return TransferCost{std::max(0.0, small_ns - ns_per_byte * kSmallBytes), ns_per_byte};
  }

 private:
  ListTimer(std::shared_ptr<const backend::Group> group, backend::Stream stream,
            std::shared_ptr<const Clock> simulated)
      : group_(std::move(group)), stream_(std::move(stream)), simulated_(std::move(simulated)) {}

  Result<double> least_ns(const backend::CommandList& list, void* host) {
    const Clock& clock = simulated_ ? *simulated_ : system_clock();
    const std::array<void*, 1> bindings = {host};
    double least = 0;
    for (int run = 0; run < kRuns; ++run) {
      const std::int64_t start_ns = clock.now_ns();
      SLUICE_TRY(stream_.submit(list, bindings));
      SLUICE_TRY(stream_.wait());
      const auto time_ns = static_cast<double>(clock.now_ns() - start_ns);
      least = run == 0 ? time_ns : std::min(least, time_ns);
    }
    return least;
  }

  std::shared_ptr<const backend::Group> group_;
  backend::Stream stream_;
  std::shared_ptr<const Clock> simulated_;  ///< null: the system's
};

}  // namespace

Result<HandOver> measure_hand_over(const std::shared_ptr<const backend::Backend>& backend,
                                   int num_cores) {
  auto timer = SLUICE_TRY(ListTimer::create(backend, num_cores));
  HandOver hand_over;
  hand_over.launch_ns = SLUICE_TRY(timer.empty_ns());
  if (backend->devices()[0].has_host_memory) return hand_over;
  hand_over.to_device = SLUICE_TRY(timer.transfer(true));
  hand_over.from_device = SLUICE_TRY(timer.transfer(false));
  // A copy is within the list of its segment, whose launch counts by itself.
  for (TransferCost* cost : {&hand_over.to_device, &hand_over.from_device}) {
    cost->latency_ns = std::max(0.0, cost->latency_ns - hand_over.launch_ns);
  }
  return hand_over;
}

}  // namespace sluice::compile
