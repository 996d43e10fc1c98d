// Values by key, bounded by the bytes that they hold: the least recently used ones go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice {

/// A value that is cheap to make again is on trial until a caller finds it: the map keeps the
/// latest kMaxTrials. It remembers hashes of dropped keys, and a key that returns has no trial. So
/// values of single use, in any number, take no more memory than a few.
///
/// Not thread-safe. Pointers to values hold until the value goes: by `insert`, never by `find`.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruMap {
 public:
  /// `limit_bytes`: 0 keeps nothing beyond the value inserted last. `shared_bytes`: what values
  /// hold together, which counts as well and falls as values go; may be null, and outlives the map.
  explicit LruMap(std::int64_t limit_bytes, const std::int64_t* shared_bytes = nullptr)
      : limit_bytes_(limit_bytes), shared_bytes_(shared_bytes) {}

  static constexpr std::size_t kMaxTrials = 32;

  /// Makes the value the most recently used; null if there is none. Ends its trial.
  Value* find(const Key& key) {
    const auto it = entries_.find(std::cref(key));
    if (it == entries_.end()) return nullptr;
    const typename Order::iterator entry = it->second;
    order_.splice(order_.begin(), entry->is_on_trial ? trials_ : order_, entry);
    entry->is_on_trial = false;
    return &entry->value;
  }

  /// Keeps the value that is there, if one is. Then drops others until all fit, but for the one
  /// inserted, so that a value larger than the limit serves at least once.
  Value& insert(Key key, Value value, std::int64_t bytes, bool is_cheap = false) {
    if (Value* there = find(key)) return *there;
    const bool is_on_trial = is_cheap && !has_gone(key);
    Order& order = is_on_trial ? trials_ : order_;
    Order one;  // an insert whose index finds no memory leaves no entry and no bytes
    one.push_front({std::move(key), std::move(value), bytes, is_on_trial});
    entries_.emplace(std::cref(one.front().key), one.begin());
    order.splice(order.begin(), one);
    held_bytes_ += bytes;
    if (trials_.size() > kMaxTrials) drop_last(trials_);
    while (held_bytes() > limit_bytes_ && size() > 1) {
      drop_last(trials_.size() > (is_on_trial ? 1U : 0U) ? trials_ : order_);
    }
    return order.front().value;
  }

  /// Drops the least recently used of the values whose keys `goes` is true for. False: there is
  /// none. Looks at all of them.
  template <typename Goes>
  bool drop_oldest(const Goes& goes) {
    for (Order* order : {&trials_, &order_}) {
      const auto last = std::find_if(order->rbegin(), order->rend(),
                                     [&](const Entry& entry) { return goes(entry.key); });
      if (last == order->rend()) continue;
      drop(*order, std::prev(last.base()));
      return true;
    }
    return false;
  }

  /// Drops the value of each key for which `goes` is true.
  template <typename Goes>
  void erase_if(const Goes& goes) {
    for (Order* order : {&order_, &trials_}) {
      for (auto entry = order->begin(); entry != order->end();) {
        const auto next = std::next(entry);
        if (goes(entry->key)) drop(*order, entry);
        entry = next;
      }
    }
  }

  std::int64_t held_bytes() const {
    return held_bytes_ + (shared_bytes_ == nullptr ? 0 : *shared_bytes_);
  }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Key key;
    Value value;
    std::int64_t bytes;
    bool is_on_trial;
  };
  using Order = std::list<Entry>;  // the one used last is the first
  using KeyRef = std::reference_wrapper<const Key>;
  struct RefHash {
    std::size_t operator()(KeyRef key) const { return Hash{}(key.get()); }
  };
  struct RefEqual {
    bool operator()(KeyRef a, KeyRef b) const { return a.get() == b.get(); }
  };

  void drop_last(Order& order) {
    if (order.back().is_on_trial) {
      gone_.resize(kMaxGone);
      const std::size_t hash = Hash{}(order.back().key);
      gone_[hash % kMaxGone] = hash;
    }
    drop(order, std::prev(order.end()));
  }

  void drop(Order& order, typename Order::iterator entry) {
    held_bytes_ -= entry->bytes;
    entries_.erase(std::cref(entry->key));
    order.erase(entry);
  }

  /// Two keys of one hash only end a trial early.
  bool has_gone(const Key& key) const {
    const std::size_t hash = Hash{}(key);
    return !gone_.empty() && gone_[hash % kMaxGone] == hash;
  }

  static constexpr std::size_t kMaxGone = 4096;

  std::int64_t limit_bytes_;
  const std::int64_t* shared_bytes_;
  std::int64_t held_bytes_ = 0;
  Order order_;
  Order trials_;
  std::vector<std::size_t> gone_;  // hashes of keys by hash, the latest; empty before the first
  std::unordered_map<KeyRef, typename Order::iterator, RefHash, RefEqual> entries_;
};

}  // namespace sluice
