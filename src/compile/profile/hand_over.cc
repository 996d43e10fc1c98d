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

enum class Direction { kToDevice, kFromDevice, kFromPeer };

bool has_peers(const backend::Backend& backend) {
  const auto devices = backend.devices();
  return devices.size() > 1 && !devices[0].has_host_memory && !devices[1].has_host_memory &&
         backend.copies_between_devices();
}

/// Lists on a group, by the clock of its device.
class ListTimer {
 public:
  static Result<ListTimer> create(const std::shared_ptr<const backend::Backend>& backend,
                                  int device, int num_cores) {
    const backend::DeviceInfo& info = backend->devices()[static_cast<std::size_t>(device)];
    std::shared_ptr<const Clock> simulated;
    if (info.is_simulated) {
      simulated = SLUICE_TRY(backend::VirtualTime::of(backend));
    }
    std::vector<std::int32_t> cores(
        static_cast<std::size_t>(std::clamp(num_cores, 1, std::max(1, info.num_cores))));
    std::iota(cores.begin(), cores.end(), 0);
    auto group = SLUICE_TRY(backend::Group::create(backend, device, cores));
    auto stream = SLUICE_TRY(backend::Stream::create(group));
    return ListTimer(std::move(group), std::move(stream), std::move(simulated));
  }

  /// The least of a few copies: an interrupt or a neighbour lengthens single ones. A peer is
  /// device 0, whose memory the list of the group reads, as in a run.
  Result<double> copy_ns(std::int64_t size_bytes, Direction direction) {
    MutableBytes host(static_cast<std::size_t>(size_bytes));
    std::ranges::fill(host.view(), std::byte{1});
    const auto& backend = group_->shared_backend();
    const auto own =
        SLUICE_TRY(backend::DeviceMemory::allocate(backend, group_->device(), size_bytes));
    const auto peer = SLUICE_TRY(backend::DeviceMemory::allocate(
        backend, 0, direction == Direction::kFromPeer ? size_bytes : 0));
    const sluice_argument there = backend::fixed_argument(own.address());
    const sluice_argument here = direction == Direction::kFromPeer
                                     ? backend::fixed_argument(peer.address())
                                     : backend::bound_argument(0, 0);
    const bool is_in = direction != Direction::kFromDevice;
    auto list = SLUICE_TRY(backend::CommandList::create(group_));
    SLUICE_TRY(list.add_copy(is_in ? here : there, is_in ? there : here, size_bytes));
    SLUICE_TRY(list.finish());
    return least_ns(list, host.view().data());
  }

  Result<double> empty_ns() {
    auto list = SLUICE_TRY(backend::CommandList::create(group_));
    SLUICE_TRY(list.finish());
    return least_ns(list, nullptr);
  }

  /// A line through a small and a large copy. A copy is within the list of its segment, whose
  /// launch counts by itself.
  Result<TransferCost> transfer(Direction direction, double launch_ns) {
    const double small_ns = SLUICE_TRY(copy_ns(kSmallBytes, direction));
    const double large_ns = SLUICE_TRY(copy_ns(kLargeBytes, direction));
    const double ns_per_byte =
        std::max(0.0, large_ns - small_ns) / static_cast<double>(kLargeBytes - kSmallBytes);
    return TransferCost{std::max(0.0, small_ns - ns_per_byte * kSmallBytes - launch_ns),
                        ns_per_byte};
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
  auto timer = SLUICE_TRY(ListTimer::create(backend, 0, num_cores));
  HandOver hand_over;
  hand_over.launch_ns = SLUICE_TRY(timer.empty_ns());
  if (backend->devices()[0].has_host_memory) return hand_over;
  const double launch_ns = hand_over.launch_ns;
  hand_over.to_device = SLUICE_TRY(timer.transfer(Direction::kToDevice, launch_ns));
  hand_over.from_device = SLUICE_TRY(timer.transfer(Direction::kFromDevice, launch_ns));
  if (!has_peers(*backend)) return hand_over;
  auto taker = SLUICE_TRY(ListTimer::create(backend, 1, num_cores));
  hand_over.between_devices = SLUICE_TRY(taker.transfer(Direction::kFromPeer, launch_ns));
  return hand_over;
}

}  // namespace sluice::compile
