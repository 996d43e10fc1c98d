#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/isa.h"
#include "sluice/backend.hpp"
#include "sluice/extensions/variants.h"

namespace sluice::cpu {

// A family with several tactics has a table of them: structs with a `name`. The first has no name
// and is the plug-in's default. In packages and reports a name carries its instruction set,
// "avx512/direct": block sizes measured on one set are wrong for another, which uses its default.

/// The tactic that the operation names for `isa`; "" if it names none, or one of another set.
inline std::string_view tactic_of(const sluice_op& op, Isa isa) {
  std::string_view name = plugin::Attributes(op).get_text(SLUICE_VARIANT_ATTRIBUTE);
  const std::string_view set = isa_name(isa);
  if (!name.starts_with(set) || name.substr(set.size(), 1) != "/") return {};
  return name.substr(set.size() + 1);
}

/// The tactic of that name; the default one if there is none.
template <typename Tactic, std::size_t kCount>
const Tactic& find_tactic(const Tactic (&all)[kCount], std::string_view name) {
  for (const Tactic& tactic : all) {
    if (tactic.name == name) return tactic;
  }
  return all[0];
}

/// The numbers in which plans of different tactics differ. Nullopt if the tactic does not fit.
using PlanNumbers = std::optional<std::vector<std::int64_t>>;

/// Names of the tactics whose plans differ from the default plan and from each other.
template <typename Tactic, std::size_t kCount, typename NumbersOf>
std::vector<std::string> distinct_tactics(const Tactic (&all)[kCount],
                                          const NumbersOf& numbers_of) {
  std::vector<PlanNumbers> seen = {numbers_of(all[0])};
  std::vector<std::string> names;
  for (const Tactic& tactic : std::span(all).subspan(1)) {
    PlanNumbers numbers = numbers_of(tactic);
    if (!numbers || std::find(seen.begin(), seen.end(), numbers) != seen.end()) continue;
    seen.push_back(std::move(numbers));
    names.emplace_back(tactic.name);
  }
  return names;
}

}  // namespace sluice::cpu
