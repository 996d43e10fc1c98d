// The memory that the steps since the last barrier touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sluice::cpu {

/// Memory that a step touches.
struct Access {
  std::int32_t binding;
  std::uintptr_t begin;
  std::uintptr_t end;
  bool write;
  bool serial;  ///< worker 0 runs the step
};

/// A question costs the logarithm of the number of accesses, and not a comparison with each: where
/// they are many, they are joined to ranges of bytes that were touched alike.
class OpenAccesses {
 public:
  void clear() {
    latest_.clear();
    ranges_.clear();
  }
  void add(const Access& access);
  /// Whether some step must end before another starts that has this access: one of them writes, and
  /// they are not both serial, because worker 0 runs serial steps in order.
  bool conflicts_with(const Access& access) const;

 private:
  using Key = std::pair<std::int32_t, std::uintptr_t>;  // binding, begin
  struct Range {
    std::uintptr_t end;
    std::uint8_t kinds;  ///< a bit per kind of access
  };
  static std::uint8_t kind_of(bool write, bool serial) {
    return static_cast<std::uint8_t>(1U << ((write ? 2U : 0U) + (serial ? 1U : 0U)));
  }
  void add_range(const Access& access);
  bool has_conflicting_range(const Access& access) const;
  void split_at(std::int32_t binding, std::uintptr_t at);

  static constexpr std::size_t kMostLatest = 32;
  std::vector<Access> latest_;   // not in ranges_ yet
  std::map<Key, Range> ranges_;  // those of a binding do not overlap
};

}  // namespace sluice::cpu
