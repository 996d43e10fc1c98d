// Where values stand in a list of keys: of equal keys the last one counts, NaN is a key like any
// other (ONNX's LabelEncoder).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <unordered_map>

#include "reference/elements.h"

namespace sluice::reference {

/// What keys may be.
inline constexpr Types<Text, std::int64_t, float, double, std::int32_t, std::int16_t> kKeyTypes;

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

/// A look-up of constant time. Keys that are texts are borrowed. Immutable.
template <typename T>
class KeyTable {
 public:
  using Key = Compute<T>;

  explicit KeyTable(std::span<const T> keys)
      : missing_(static_cast<std::int64_t>(keys.size())), nan_(missing_) {
    places_.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Key key = keys[i];
      if (is_nan(key)) {
        nan_ = static_cast<std::int64_t>(i);
      } else {
        places_.insert_or_assign(key, static_cast<std::int64_t>(i));
      }
    }
  }

  /// The index of `key`; the number of keys if it is not in the table.
  std::int64_t find(Key key) const {
    if (is_nan(key)) return nan_;
    const auto at = places_.find(key);
    return at == places_.end() ? missing_ : at->second;
  }

 private:
  std::int64_t missing_, nan_;
  std::unordered_map<Key, std::int64_t> places_;
};

/// The same without a table.
template <typename T>
std::int64_t find_last(std::span<const T> keys, Compute<T> key) {
  for (std::size_t i = keys.size(); i-- > 0;) {
    const Compute<T> own = keys[i];
    if (own == key || (is_nan(own) && is_nan(key))) return static_cast<std::int64_t>(i);
  }
  return static_cast<std::int64_t>(keys.size());
}

}  // namespace sluice::reference
