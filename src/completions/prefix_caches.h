// The prefix caches of all models, which share one budget.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "generate/pages/prefix_cache.h"

namespace sluice::completions {

/// Safe across threads. A model's cache goes with the model.
class PrefixCaches {
 public:
  /// Bytes of pages that all caches keep at most. Each model has an equal part, and one page at
  /// least; a model that goes leaves its part to the others once the next one comes. Pages that
  /// texts in the making share stay where a part gets smaller. Called before `add`.
  void set_limit(std::int64_t bytes) { limit_bytes_ = bytes; }

  /// Adding a cache again changes nothing.
  void add(const std::shared_ptr<generate::PrefixCache>& cache, std::int64_t page_bytes) {
    std::vector<std::shared_ptr<generate::PrefixCache>> living;  // goes without the lock
    // Held while parts are set: another call has other parts.
    const std::lock_guard lock(mutex_);
    std::erase_if(caches_, [&](const Known& known) {
      const auto other = known.cache.lock();
      return other == nullptr || other == cache;
    });
    caches_.push_back({cache, page_bytes});
    living.reserve(caches_.size());
    const std::int64_t part_bytes = limit_bytes_ / std::ssize(caches_);
    for (const Known& known : caches_) {
      living.push_back(known.cache.lock());
      if (living.back() == nullptr) continue;
      living.back()->set_most_pages(std::max<std::int64_t>(1, part_bytes / known.page_bytes));
    }
  }

  /// Gives back a page that no text has. False if there is none.
  bool give_back() {
    for (const auto& cache : all()) {
      if (cache->give_back()) return true;
    }
    return false;
  }

 private:
  struct Known {
    std::weak_ptr<generate::PrefixCache> cache;
    std::int64_t page_bytes = 0;
  };

  /// Pages go back to pools without the lock.
  std::vector<std::shared_ptr<generate::PrefixCache>> all() {
    std::vector<std::shared_ptr<generate::PrefixCache>> living;
    const std::lock_guard lock(mutex_);
    for (const Known& known : caches_) {
      if (auto cache = known.cache.lock()) living.push_back(std::move(cache));
    }
    return living;
  }

  std::int64_t limit_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::mutex mutex_;  ///< guards the rest
  std::vector<Known> caches_;
};

}  // namespace sluice::completions
