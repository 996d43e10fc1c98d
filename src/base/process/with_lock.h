// A few statements under a lock, without a block of their own.
#pragma once

#include <mutex>
#include <utility>

namespace sluice {

/// What `work` returns. It runs while this thread holds `mutex`, and no longer.
template <typename Mutex, typename Work>
auto with_lock(Mutex& mutex, Work&& work) {
  const std::lock_guard lock(mutex);
  return std::forward<Work>(work)();
}

}  // namespace sluice
