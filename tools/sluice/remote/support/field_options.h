// Options of a command for the numbers of a load or a function.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "sluice/cli/options.h"
#include "terms/field.h"

namespace sluice::tool {

/// Adds an option for each field of `target`, or for those in `names`.
template <typename Target>
void add_fields(Options& options, Target& target,
                std::initializer_list<std::string_view> names = {}) {
  Target::visit_fields([&](const terms::Field& field, auto of) {
    const bool is_wanted =
        names.size() == 0 || std::find(names.begin(), names.end(), field.name) != names.end();
    if (!is_wanted) return;
    auto& member = of(target);
    constexpr bool kHasDefault = std::is_arithmetic_v<std::remove_reference_t<decltype(member)>>;
    Option option = options.add(field.flag, member, field.help);
    if (field.is_duration()) {
      option.takes_seconds(terms::number_of(member).value_or(-1));
      return;
    }
    if (std::string_view(field.name).ends_with("_bytes")) option.takes_size();
    if (field.least >= 0 && field.most != terms::kAnyNumber) {
      option.between(static_cast<double>(field.least), static_cast<double>(field.most));
    }
    if constexpr (kHasDefault) option.shows_default();
  });
}

}  // namespace sluice::tool
