#include "guest/proxy/guest_list.h"

namespace sluice::guest {

std::shared_ptr<GuestUse> GuestList::add(std::int32_t process) {
  auto use = std::make_shared<GuestUse>();
  use->process = process;
  const std::lock_guard lock(mutex_);
  guests_.remove_if([](const auto& guest) { return guest.expired(); });
  guests_.push_back(use);
  return use;
}

std::vector<GuestLine> GuestList::lines(const GuestUse* except, std::size_t max) const {
  const std::int64_t now_ns = system_clock().now_ns();
  std::vector<GuestLine> lines;
  const std::lock_guard lock(mutex_);
  for (const auto& guest : guests_) {
    const auto use = guest.lock();
    if (use == nullptr || use.get() == except) continue;
    if (lines.size() == max) break;
    lines.push_back({.process = use->process,
                     .age_ns = now_ns - use->begin_ns,
                     .memory_bytes = use->memory_bytes,
                     .num_calls = use->num_calls,
                     .num_launches = use->num_launches,
                     .to_device_bytes = use->to_device_bytes,
                     .from_device_bytes = use->from_device_bytes});
  }
  return lines;
}

}  // namespace sluice::guest
