#include "base/text/plural.h"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

/// "copy", but not "day".
bool ends_in_consonant_and_y(std::string_view noun) {
  constexpr std::string_view kVowels = "aeiou";
  return noun.size() > 1 && noun.back() == 'y' &&
         kVowels.find(noun[noun.size() - 2]) == std::string_view::npos;
}

bool ends_in_hiss(std::string_view noun) {
  constexpr std::array<std::string_view, 4> kHisses = {"s", "x", "ch", "sh"};
  return std::ranges::any_of(kHisses, [&](std::string_view end) { return noun.ends_with(end); });
}

}  // namespace

std::string plural(bool is_one, std::string_view noun) {
  std::string text(noun);
  if (is_one) return text;
  if (ends_in_consonant_and_y(noun)) {
    text.pop_back();
    return text + "ies";
  }
  return text + (ends_in_hiss(noun) ? "es" : "s");
}

}  // namespace sluice
