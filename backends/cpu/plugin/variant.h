#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa.h"
#include "sluice/backend.hpp"
#include "sluice/variants.h"

namespace sluice::cpu {

// A family with several ways to compute an operation has a table of them: structs with a `name`,
// the first, of no name, the plug-in's own choice. Outside, a name has the instruction set before
// it, "avx512/direct": sizes that suit one do not suit another, which then chooses for itself.

/// Which way the operation asks of `isa`; "" where it asks for none, or another set.
inline std::string_view variant_of(const sluice_op& op, Isa isa) {
  std::string_view name = plugin::Attributes(op).get_text(SLUICE_VARIANT_ATTRIBUTE);
  const std::string_view set = isa_name(isa);
  if (!name.starts_with(set) || name.substr(set.size(), 1) != "/") return {};
  return name.substr(set.size() + 1);
}

/// The way of that name, else the first.
template <typename Variant, std::size_t kCount>
const Variant& find_variant(const Variant (&all)[kCount], std::string_view name) {
  for (const Variant& variant : all) {
    if (variant.name == name) return variant;
  }
  return all[0];
}

/// What tells the plan of a way from those of others: its numbers. Nullopt where it does not fit.
using PlanNumbers = std::optional<std::vector<std::int64_t>>;

/// Names of the ways whose plans differ from the first's and from each other's.
template <typename Variant, std::size_t kCount, typename NumbersOf>
std::vector<std::string> distinct_variants(const Variant (&all)[kCount],
                                           const NumbersOf& numbers_of) {
  std::vector<PlanNumbers> seen = {numbers_of(all[0])};
  std::vector<std::string> names;
  for (const Variant& variant : std::span(all).subspan(1)) {
    PlanNumbers numbers = numbers_of(variant);
    if (!numbers || std::find(seen.begin(), seen.end(), numbers) != seen.end()) continue;
    seen.push_back(std::move(numbers));
    names.emplace_back(variant.name);
  }
  return names;
}

}  // namespace sluice::cpu
