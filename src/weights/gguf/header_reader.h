// Values of a GGUF file's header, one behind the other.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace sluice::weights {

/// Borrows the bytes. The reader compares every size with the bytes left before it allocates
/// memory. Used by one thread.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }

  /// Fails: kInvalidArgument at the end of the bytes.
  template <typename T>
  Result<T> number() {
    static_assert(std::is_arithmetic_v<T>);
    if (left() < sizeof(T)) return ended();
    T value{};
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A length and its bytes. Fails: also for what is not UTF-8.
  Result<std::string> text();

  /// A type and a value of it. Fails: also for an unknown type, a list in a list, and too many
  /// values in all.
  Result<nlohmann::json> value();

 private:
  std::size_t left() const { return bytes_.size() - position_; }
  Status ended() const;
  Status count_value();
  Result<nlohmann::json> value_of(std::uint32_t type);
  Result<nlohmann::json> list();
  template <typename T>
  Result<nlohmann::json> number_value();

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  std::size_t num_values_ = 0;
};

}  // namespace sluice::weights
