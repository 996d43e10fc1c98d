#include "plugin/host_copies.h"

#include <algorithm>
#include <cstring>

namespace sluice::cuda {
namespace {

using plugin::detail::address_of;

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

Status check_copy(const Driver& driver, CuResult result, std::size_t bytes) {
  if (result == CuResult::kSuccess) return plugin::ok();
  return check_call(driver, result, "copying " + std::to_string(bytes) + " bytes");
}

Status no_room() { return {SLUICE_INTERNAL, "a graph has too little pinned memory"}; }

}  // namespace

Status PinnedMemory::allocate(const Driver& driver, std::size_t bytes,
                              std::shared_ptr<PinnedMemory>* memory) {
  const DriverTable& cu = driver.table;
  CuContext context = nullptr;
  void* start = nullptr;
  CuResult result = cu.ctx_get_current(&context);
  if (result == CuResult::kSuccess) result = cu.mem_host_alloc(&start, bytes, kHostAllocPortable);
  if (result != CuResult::kSuccess) {
    return check_call(driver, result, "pinning " + std::to_string(bytes) + " bytes of the host");
  }
  memory->reset(new PinnedMemory(driver, context, start, bytes));
  return plugin::ok();
}

PinnedMemory::~PinnedMemory() {
  driver_.table.ctx_set_current(context_);
  driver_.table.mem_free_host(start_);
}

std::byte* PinnedMemory::take(std::size_t bytes) {
  if (bytes > bytes_ - used_) return nullptr;
  std::byte* const part = start_ + used_;
  used_ = std::min(bytes_, used_ + (bytes + kPart - 1) / kPart * kPart);
  return part;
}

bool GraphCopies::feed_each_other(std::span<void* const> bindings) const {
  for (auto in = copies.begin(); in != copies.end(); ++in) {
    if (!in->is_to_device) continue;
    const void* const source = address_of(in->host, bindings);
    const bool is_fed = std::any_of(copies.begin(), in, [&](const Copy& out) {
      return !out.is_to_device &&
             overlap(address_of(out.host, bindings), out.bytes, source, in->bytes);
    });
    if (is_fed) return true;
  }
  return false;
}

Status HostCopies::to_device(const Driver& driver, CuStream stream, CuDevicePointer target,
                             const sluice_argument& source, std::span<void* const> bindings,
                             std::size_t bytes) {
  const DriverTable& cu = driver.table;
  const void* from = address_of(source, bindings);
  if (recorded_ != nullptr) {
    std::byte* const pinned = recorded_->memory->take(bytes);
    if (pinned == nullptr) return no_room();
    recorded_->copies.push_back({pinned, source, bytes, true});
    from = pinned;
  } else {
    Status status = settle_if_pending_at(driver, stream, from, bytes);
    if (!status.is_ok()) return status;
    if (std::byte* const pinned = take(driver, bytes); pinned != nullptr) {
      std::memcpy(pinned, from, bytes);
      from = pinned;
    }
  }
  return check_copy(driver, cu.memcpy_htod_async(target, from, bytes, stream), bytes);
}

Status HostCopies::to_host(const Driver& driver, CuStream stream, const sluice_argument& target,
                           std::span<void* const> bindings, CuDevicePointer source,
                           std::size_t bytes) {
  const DriverTable& cu = driver.table;
  if (recorded_ != nullptr) {
    std::byte* const pinned = recorded_->memory->take(bytes);
    if (pinned == nullptr) return no_room();
    recorded_->copies.push_back({pinned, target, bytes, false});
    return check_copy(driver, cu.memcpy_dtoh_async(pinned, source, bytes, stream), bytes);
  }
  void* const to = address_of(target, bindings);
  std::byte* const pinned = take(driver, bytes);
  if (pinned == nullptr) {
    // Bytes on their way to the same place would come later, over these.
    Status status = settle_if_pending_at(driver, stream, to, bytes);
    if (!status.is_ok()) return status;
    return check_copy(driver, cu.memcpy_dtoh_async(to, source, bytes, stream), bytes);
  }
  const CuResult result = cu.memcpy_dtoh_async(pinned, source, bytes, stream);
  if (result == CuResult::kSuccess) pending_.push_back({memory_, pinned, to, bytes});
  return check_copy(driver, result, bytes);
}

Status HostCopies::start(const Driver& driver, CuStream stream, const GraphCopies& graph,
                         std::span<void* const> bindings) {
  for (const GraphCopies::Copy& copy : graph.copies) {
    if (!copy.is_to_device) continue;
    const void* const from = address_of(copy.host, bindings);
    Status status = settle_if_pending_at(driver, stream, from, copy.bytes);
    if (!status.is_ok()) return status;
    std::memcpy(copy.pinned, from, copy.bytes);
  }
  return plugin::ok();
}

void HostCopies::expect(const GraphCopies& graph, std::span<void* const> bindings) {
  for (const GraphCopies::Copy& copy : graph.copies) {
    if (copy.is_to_device) continue;
    pending_.push_back({graph.memory, copy.pinned, address_of(copy.host, bindings), copy.bytes});
  }
}

void HostCopies::finish() {
  for (const Pending& copy : pending_) std::memcpy(copy.to, copy.from, copy.bytes);
  forget();
}

void HostCopies::forget() {
  pending_.clear();
  if (memory_ != nullptr) memory_->take_all_back();
}

Status HostCopies::settle(const Driver& driver, CuStream stream) {
  if (pending_.empty()) return plugin::ok();
  const CuResult result = driver.table.stream_synchronize(stream);
  if (result != CuResult::kSuccess) return check_call(driver, result, "waiting for copies");
  finish();
  return plugin::ok();
}

Status HostCopies::settle_if_pending_at(const Driver& driver, CuStream stream, const void* address,
                                        std::size_t bytes) {
  const bool is_pending = std::ranges::any_of(
      pending_, [&](const Pending& copy) { return overlap(copy.to, copy.bytes, address, bytes); });
  return is_pending ? settle(driver, stream) : plugin::ok();
}

/// Null if the driver has to copy.
std::byte* HostCopies::take(const Driver& driver, std::size_t bytes) {
  if (bytes > kMaxStagedBytes || has_memory_failed_) return nullptr;
  if (memory_ == nullptr) {
    has_memory_failed_ = !PinnedMemory::allocate(driver, kPinnedBytes, &memory_).is_ok();
    if (has_memory_failed_) return nullptr;
  }
  return memory_->take(bytes);
}

}  // namespace sluice::cuda
