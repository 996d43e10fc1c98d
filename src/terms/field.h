// The members of a struct that each of its forms copies: JSON, messages, the C interface, commands.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace sluice::terms {

inline constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

/// Its struct has a table of them, `visit_fields`, which calls a visitor with each field and with
/// what returns the member of this name of any struct.
struct Field {
  const char* name = "";  ///< in all forms; of nanoseconds it ends with "_ns"
  // For fields of options.
  std::int64_t least = 0;
  std::int64_t most = kAnyNumber;
  const char* flag = "";  ///< of commands, which take seconds for nanoseconds
  const char* help = "";
  /// Minor version of the protocol that a daemon must have where the field has a value: an older
  /// one would serve otherwise. 0: any.
  std::uint32_t since = 0;

  bool is_duration() const { return std::string_view(name).ends_with("_ns"); }
};
/// The arguments of a visitor for a member; more initialize its Field.
#define SLUICE_FIELD(member, ...)                                                     \
  ::sluice::terms::Field{#member __VA_OPT__(, ) __VA_ARGS__}, [](auto& of) -> auto& { \
    return of.member;                                                                 \
  }

/// Defines `visit_fields` of the struct for these members, at most 20.
#define SLUICE_FIELDS(...)                   \
  template <typename Visit>                  \
  static void visit_fields(Visit&& visit) {  \
    SLUICE_EXPAND(SLUICE_VISIT(__VA_ARGS__)) \
  }
// A macro does not expand within itself, so each further scan expands the next member.
#define SLUICE_VISIT(member, ...) \
  visit(SLUICE_FIELD(member));    \
  __VA_OPT__(SLUICE_VISIT_MORE SLUICE_NO_ARGUMENTS(__VA_ARGS__))
#define SLUICE_VISIT_MORE() SLUICE_VISIT
#define SLUICE_NO_ARGUMENTS ()
#define SLUICE_EXPAND(...) SLUICE_SCAN(SLUICE_SCAN(SLUICE_SCAN(SLUICE_SCAN(__VA_ARGS__))))
#define SLUICE_SCAN(...) SLUICE_RESCAN(SLUICE_RESCAN(SLUICE_RESCAN(SLUICE_RESCAN(__VA_ARGS__))))
#define SLUICE_RESCAN(...) __VA_ARGS__

/// None of a member without a value.
template <typename T>
std::optional<std::int64_t> number_of(const T& member) {
  return static_cast<std::int64_t>(member);
}
template <typename T>
std::optional<std::int64_t> number_of(const std::optional<T>& member) {
  return member ? number_of(*member) : std::nullopt;
}

/// Requires: the member can hold the number.
template <typename T>
void set_number(T& member, std::int64_t number) {
  member = static_cast<T>(number);
}
template <typename T>
void set_number(std::optional<T>& member, std::int64_t number) {
  set_number(member.emplace(), number);
}

}  // namespace sluice::terms
