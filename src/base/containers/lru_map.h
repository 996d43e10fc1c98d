// Values by key, bounded by the bytes that they hold: the least recently used ones go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace sluice {

/// Not thread-safe. Pointers to values hold until the value goes: by `insert` or `trim`, never by
/// `find`.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruMap {
 public:
  /// `limit_bytes`: 0 keeps nothing beyond the value inserted last.
  explicit LruMap(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Makes the value the most recently used; null if there is none.
  Value* find(const Key& key) {
    const auto it = entries_.find(std::cref(key));
    if (it == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return &it->second->value;
  }

  /// Keeps the value that is there, if one is. Then drops others until all fit, but for the one
  /// inserted, so that a value larger than the limit serves at least once.
  Value& insert(Key key, Value value, std::int64_t bytes) {
    if (Value* there = find(key)) return *there;
    order_.push_front({std::move(key), std::move(value), bytes});
    entries_.emplace(std::cref(order_.front().key), order_.begin());
    held_bytes_ += bytes;
    while (held_bytes_ > limit_bytes_ && order_.size() > 1) drop_last();
    return order_.front().value;
  }

  std::int64_t held_bytes() const { return held_bytes_; }
  std::int64_t limit_bytes() const { return limit_bytes_; }
  std::size_t size() const { return order_.size(); }

 private:
  struct Entry {
    Key key;
    Value value;
    std::int64_t bytes;
  };
  using Order = std::list<Entry>;  // the one used last is the first
  using KeyRef = std::reference_wrapper<const Key>;
  struct RefHash {
    std::size_t operator()(KeyRef key) const { return Hash{}(key.get()); }
  };
  struct RefEqual {
    bool operator()(KeyRef a, KeyRef b) const { return a.get() == b.get(); }
  };

  void drop_last() {
    held_bytes_ -= order_.back().bytes;
    entries_.erase(std::cref(order_.back().key));
    order_.pop_back();
  }

  std::int64_t limit_bytes_;
  std::int64_t held_bytes_ = 0;
  Order order_;
  std::unordered_map<KeyRef, typename Order::iterator, RefHash, RefEqual> entries_;
};

}  // namespace sluice
