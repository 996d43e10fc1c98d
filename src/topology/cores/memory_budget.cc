#include "topology/cores/memory_budget.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/checked.h"

namespace sluice::topology {

Status MemoryBudget::reserve(std::string_view category, std::int64_t bytes) {
  assert(bytes >= 0);
  const std::lock_guard lock(mutex_);
  const auto total = checked_add(used_bytes_, bytes);
  if (!total || (limit_bytes_ != kUnlimited && *total > limit_bytes_)) {
    return make_error(Code::kResourceExhausted,
                      "{}: {} bytes for {} do not fit: {} of {} bytes are in use{}", name_, bytes,
                      category, used_bytes_, limit_bytes_, itemise());
  }
  // Nothing changes before every check has passed: a refused reservation leaves no category behind.
  const auto it = bytes_of_.try_emplace(std::string(category), 0).first;
  it->second += bytes;
  used_bytes_ = *total;
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return ok_status();
}

void MemoryBudget::release(std::string_view category, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = bytes_of_.find(category);
  assert(it != bytes_of_.end() && it->second >= bytes);
  // A mistake of our own code; without asserts the numbers stay as they are.
  if (it == bytes_of_.end()) return;
  it->second -= bytes;
  used_bytes_ -= bytes;
  if (it->second == 0) bytes_of_.erase(it);
}

std::vector<terms::MemoryItem> MemoryBudget::items() const {
  const std::lock_guard lock(mutex_);
  std::vector<terms::MemoryItem> items;
  for (const auto& [category, bytes] : bytes_of_) items.push_back({category, bytes});
  std::ranges::stable_sort(items, std::greater(), &terms::MemoryItem::bytes);
  return items;
}

std::int64_t MemoryBudget::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::int64_t MemoryBudget::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

std::string MemoryBudget::itemise() const {
  std::string text;
  for (const auto& [category, bytes] : bytes_of_) {
    text += fmt::format("{} {} {}", text.empty() ? ":" : ",", category, bytes);
  }
  return text;
}

Result<MemoryLease> MemoryLease::reserve(MemoryBudget& budget, std::string_view category,
                                         std::int64_t bytes) {
  SLUICE_TRY(budget.reserve(category, bytes));
  MemoryLease lease;
  lease.budget_ = &budget;
  lease.category_ = category;
  lease.bytes_ = bytes;
  return lease;
}

MemoryLease::MemoryLease(MemoryLease&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      category_(std::move(other.category_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

MemoryLease& MemoryLease::operator=(MemoryLease&& other) noexcept {
  // The destructor of `other` releases what this held.
  std::swap(budget_, other.budget_);
  std::swap(category_, other.category_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryLease::~MemoryLease() {
  if (budget_ != nullptr) budget_->release(category_, bytes_);
}

}  // namespace sluice::topology
