#include "exec/verification.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include "exec/stop.h"

namespace sluice::exec {
namespace {

/// A thread is worth its start for this much.
constexpr std::size_t kBytesPerThread = 4 << 20;
/// What is larger says nothing about shapes.
constexpr std::size_t kLargeBytes = 64 << 10;

std::size_t threads_for(std::size_t bytes, int num_threads) {
  const std::size_t allowed =
      num_threads > 0 ? static_cast<std::size_t>(num_threads) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(bytes / kBytesPerThread, 1, std::max<std::size_t>(allowed, 1));
}

}  // namespace

void Verification::add(Bytes data, std::string what) {
  items_.push_back({std::move(data), std::move(what)});
}

Status Verification::start(const package::Executable& executable, int num_threads,
                           std::stop_token stop) {
  executable_ = &executable;
  stop_ = std::move(stop);
  std::size_t bytes = 0;
  for (Item& item : items_) {
    if (item.data.size() < kLargeBytes) {
      SLUICE_TRY(executable.verify(item.data, item.what));
    } else {
      large_.push_back(&item);
      bytes += item.data.size();
    }
  }
  std::ranges::stable_sort(large_, std::greater(), [](const Item* i) { return i->data.size(); });
  try {
    for (std::size_t i = 1; i < threads_for(bytes, num_threads); ++i) {
      helpers_.emplace_back([this] { work(); });
    }
  } catch (const std::system_error&) {  // no more threads: those that there are do it
  }
  return ok_status();
}

void Verification::work() {
  for (std::size_t i = next_++; i < large_.size() && !stop_.stop_requested(); i = next_++) {
    large_[i]->status = executable_->verify(large_[i]->data, large_[i]->what);
  }
}

Status Verification::finish() {
  work();
  helpers_.clear();
  SLUICE_TRY(check_not_stopped(stop_));
  for (const Item& item : items_) SLUICE_TRY(Status(item.status));
  return ok_status();
}

}  // namespace sluice::exec
