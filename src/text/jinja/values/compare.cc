#include "text/jinja/values/compare.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "text/jinja/values/strings.h"

namespace sluice::text::jinja {
namespace {

Result<bool> equal_lists(const List& a, const List& b, Work& work) {
  if (a.is_tuple != b.is_tuple || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!SLUICE_TRY(are_equal(a.items[i], b.items[i], work))) return false;
  }
  return true;
}

Result<const Value*> find_key(const Dict& dict, const Value& key, Work& work) {
  SLUICE_TRY(work.spend(dict.entries.size()));
  if (key.text() != nullptr) return dict.find(*key.text());
  for (const auto& [name, value] : dict.entries) {
    if (SLUICE_TRY(are_equal(name, key, work))) return &value;
  }
  return nullptr;
}

Result<bool> equal_dicts(const Dict& a, const Dict& b, Work& work) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = SLUICE_TRY(find_key(b, key, work));
    if (other == nullptr || !SLUICE_TRY(are_equal(value, *other, work))) return false;
  }
  return true;
}

/// Whole numbers are compared as such: a double has fewer digits.
std::optional<std::partial_ordering> order_of_numbers(const Value& a, const Value& b) {
  const auto whole_a = a.whole();
  const auto whole_b = b.whole();
  if (whole_a && whole_b) return *whole_a <=> *whole_b;
  const auto number_a = a.number();
  const auto number_b = b.number();
  if (number_a && number_b) return *number_a <=> *number_b;
  return std::nullopt;
}

}  // namespace

Result<bool> are_equal(const Value& a, const Value& b, Work& work) {
  SLUICE_TRY(work.spend(1));
  if (const auto order = order_of_numbers(a, b)) return *order == 0;
  if (a.text() != nullptr && b.text() != nullptr) {
    SLUICE_TRY(work.spend(std::min(a.text()->size(), b.text()->size()) / 8));
    return *a.text() == *b.text();
  }
  if (a.list() != nullptr && b.list() != nullptr) return equal_lists(*a.list(), *b.list(), work);
  if (a.dict() != nullptr && b.dict() != nullptr) return equal_dicts(*a.dict(), *b.dict(), work);
  if (a.object() != nullptr) return a.object() == b.object();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

Result<std::partial_ordering> order_of(const Value& a, const Value& b, Work& work) {
  SLUICE_TRY(work.spend(1));
  if (const auto order = order_of_numbers(a, b)) return *order;
  if (a.text() != nullptr && b.text() != nullptr) {
    SLUICE_TRY(work.spend(std::min(a.text()->size(), b.text()->size()) / 8));
    return std::partial_ordering(*a.text() <=> *b.text());
  }
  if (a.list() != nullptr && b.list() != nullptr) {
    const auto& left = a.list()->items;
    const auto& right = b.list()->items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (SLUICE_TRY(are_equal(left[i], right[i], work))) continue;
      return order_of(left[i], right[i], work);
    }
    return std::partial_ordering(left.size() <=> right.size());
  }
  return invalid_argument("{} and {} have no order", a.kind(), b.kind());
}

Result<bool> contains(const Value& container, const Value& item, Work& work) {
  SLUICE_TRY(work.spend(1));
  if (const auto* text = container.text()) {
    if (item.text() == nullptr) {
      return invalid_argument("'in' looks for a text in a text, not for {}", item.kind());
    }
    SLUICE_TRY(work.spend(text->size()));
    return find_text(*text, *item.text()) != std::string_view::npos;
  }
  if (const auto* list = container.list()) {
    for (const Value& one : list->items) {
      if (SLUICE_TRY(are_equal(one, item, work))) return true;
    }
    return false;
  }
  if (const auto* dict = container.dict()) {
    const Value* found = SLUICE_TRY(find_key(*dict, item, work));
    return found != nullptr;
  }
  if (container.is_undefined()) return false;
  return invalid_argument("'in' looks in a text, a list or a dict, not in {}", container.kind());
}

}  // namespace sluice::text::jinja
