#include "exec/verification.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "exec/stop.h"

namespace sluice::exec {
namespace {

/// A thread is worth its start for this much.
constexpr std::size_t kBytesPerThread = 4 << 20;

std::size_t threads_for(std::size_t bytes, int num_threads) {
  const std::size_t allowed =
      num_threads > 0 ? static_cast<std::size_t>(num_threads) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(bytes / kBytesPerThread, 1, std::max<std::size_t>(allowed, 1));
}

}  // namespace

void Verification::add(Bytes data, std::string what) {
  items_.push_back({std::move(data), std::move(what)});
}

Status Verification::run(const package::Executable& executable, int num_threads,
                         const std::stop_token& stop) {
  std::size_t bytes = 0;
  for (const Item& item : items_) bytes += item.data.size();
  std::vector<Item*> order;  // large ones first: threads end together
  for (Item& item : items_) order.push_back(&item);
  std::ranges::stable_sort(order, std::greater(), [](const Item* i) { return i->data.size(); });
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < order.size() && !stop.stop_requested(); i = next++) {
      order[i]->status = executable.verify(order[i]->data, order[i]->what);
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads_for(bytes, num_threads); ++i) helpers.emplace_back(work);
    work();
  }
  SLUICE_TRY(check_not_stopped(stop));
  for (const Item& item : items_) SLUICE_TRY(Status(item.status));
  return ok_status();
}

}  // namespace sluice::exec
