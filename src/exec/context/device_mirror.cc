#include "exec/context/device_mirror.h"

#include <algorithm>

namespace sluice::exec {

void DeviceMirror::add(const plan::Place& place, std::int64_t size_bytes) {
  if (is_fixed(place)) return;
  const std::int64_t end = place.offset_bytes + size_bytes;
  const auto [it, is_new] = regions_.try_emplace(place.binding, Region{place.offset_bytes, end, 0});
  if (is_new) return;
  it->second.begin = std::min(it->second.begin, place.offset_bytes);
  it->second.end = std::max(it->second.end, end);
}

std::int64_t DeviceMirror::padded_bytes(const Region& region) {
  const std::int64_t begin = region.begin - region.begin % backend::kAlignment;
  // Never empty: the address of a tensor without elements is one of the device too.
  const std::int64_t size = std::max<std::int64_t>(region.end - begin, 1);
  return (size + backend::kAlignment - 1) / backend::kAlignment * backend::kAlignment;
}

std::int64_t DeviceMirror::size_bytes() const {
  std::int64_t total = 0;
  for (const auto& [binding, region] : regions_) total += padded_bytes(region);
  return total;
}

Status DeviceMirror::allocate(device::MemoryPool& memory, std::string_view owner) {
  std::int64_t total = 0;
  for (auto& [binding, region] : regions_) {
    region.offset_bytes = total;
    total += padded_bytes(region);
    region.begin -= region.begin % backend::kAlignment;
  }
  memory_ = SLUICE_TRY(memory.allocate(total, owner, device::MemoryCategory::kArenas));
  return ok_status();
}

sluice_argument DeviceMirror::argument(const plan::Place& place) const {
  if (const auto fixed = fixed_.find(place.binding); fixed != fixed_.end()) {
    return backend::fixed_argument(static_cast<const std::byte*>(fixed->second) +
                                   place.offset_bytes);
  }
  const Region& region = regions_.at(place.binding);
  return backend::fixed_argument(static_cast<const std::byte*>(memory_.address()) +
                                 region.offset_bytes + place.offset_bytes - region.begin);
}

Result<std::int64_t> DeviceMirror::copy_in(const plan::Place& place, std::int64_t size_bytes,
                                           backend::CommandList& list, const DeviceMirror* giver) {
  if (is_fixed(place) || !present_.insert(place.operand).second || size_bytes == 0) {
    return std::int64_t{0};
  }
  const sluice_argument source = giver != nullptr
                                     ? giver->argument(place)
                                     : backend::bound_argument(place.binding, place.offset_bytes);
  SLUICE_TRY(list.add_copy(source, argument(place), size_bytes));
  return size_bytes;
}

Result<std::int64_t> DeviceMirror::copy_out(const plan::Place& place, std::int64_t size_bytes,
                                            backend::CommandList& list) const {
  if (is_fixed(place) || size_bytes == 0) return std::int64_t{0};
  SLUICE_TRY(list.add_copy(argument(place),
                           backend::bound_argument(place.binding, place.offset_bytes), size_bytes));
  return size_bytes;
}

}  // namespace sluice::exec
