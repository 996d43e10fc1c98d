#include "text/jinja/library/methods.h"

#include <utility>
#include <vector>

#include "text/jinja/library/lookup.h"
#include "text/jinja/values/compare.h"

namespace sluice::text::jinja {
namespace {

enum class Part { kKeys, kValues, kItems };

template <Part part>
Result<Value> entries(const Value& dict, Call& call) {
  std::vector<Value> parts;
  for (const auto& [key, value] : dict.dict()->entries) {
    if (part == Part::kItems) {
      parts.push_back(SLUICE_TRY(make_list({key, value}, call.work, true)));
    } else {
      parts.push_back(part == Part::kKeys ? key : value);
    }
  }
  return make_list(std::move(parts), call.work);
}

Result<Value> get(const Value& dict, Call& call) {
  const Value key = SLUICE_TRY(call.value("key"));
  Value fallback = SLUICE_TRY(call.value_or("default", None{}));
  SLUICE_TRY(call.work.spend(dict.dict()->entries.size()));
  for (const auto& [name, value] : dict.dict()->entries) {
    if (SLUICE_TRY(are_equal(name, key, call.work))) return value;
  }
  return fallback;
}

Result<Value> index(const Value& list, Call& call) {
  const Value wanted = SLUICE_TRY(call.value("value"));
  const auto& items = list.list()->items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (SLUICE_TRY(are_equal(items[i], wanted, call.work)))
      return Value(static_cast<std::int64_t>(i));
  }
  return call.error("the list has no such element");
}

Result<Value> count_items(const Value& list, Call& call) {
  const Value wanted = SLUICE_TRY(call.value("value"));
  std::int64_t found = 0;
  for (const Value& item : list.list()->items) {
    if (SLUICE_TRY(are_equal(item, wanted, call.work))) ++found;
  }
  return Value(found);
}

Result<Value> copy(const Value& value, Call& /*call*/) { return value; }

constexpr NamedFunction kDictMethods[] = {{"copy", copy},
                                          {"get", get},
                                          {"items", entries<Part::kItems>},
                                          {"keys", entries<Part::kKeys>},
                                          {"values", entries<Part::kValues>}};
constexpr NamedFunction kListMethods[] = {{"copy", copy}, {"count", count_items}, {"index", index}};

}  // namespace

const NamedFunction* find_method(const Value& value, std::string_view name) {
  if (value.text() != nullptr) return find_text_method(name);
  if (value.dict() != nullptr) return find_function(kDictMethods, name);
  return value.list() != nullptr ? find_function(kListMethods, name) : nullptr;
}

}  // namespace sluice::text::jinja
