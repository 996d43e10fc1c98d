// Strong index types: an OperandId is never mistaken for an OperationId or an int.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice {

/// An index into the table that `Tag` names; negative means "none".
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t value) : value_(value) {}
  constexpr explicit Id(std::size_t value) : value_(static_cast<std::int32_t>(value)) {}

  constexpr bool is_valid() const { return value_ >= 0; }
  constexpr std::int32_t value() const { return value_; }
  /// Requires: is_valid().
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }

  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::int32_t value_ = -1;
};

}  // namespace sluice

template <typename Tag>
struct std::hash<sluice::Id<Tag>> {
  std::size_t operator()(sluice::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value());
  }
};
