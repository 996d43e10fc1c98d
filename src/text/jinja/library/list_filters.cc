#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/library/arithmetic.h"
#include "text/jinja/library/filters.h"
#include "text/jinja/library/lookup.h"
#include "text/jinja/library/methods.h"
#include "text/jinja/values/compare.h"
#include "text/jinja/values/print.h"

namespace sluice::text::jinja {
namespace {

/// The value by which elements are compared: one of their fields, small letters unless case counts.
struct Key {
  Value path = None{};
  bool is_case_sensitive = false;

  Result<Value> of(const Value& item, Work& work) const {
    // Jinja ignores case by default in sort, unique, min and max; keys of other kinds stay as they
    // are.
    Value key = item;
    if (!path.is_none()) key = SLUICE_TRY(item_at_path(item, path, work));
    if (key.text() == nullptr || is_case_sensitive) return key;
    SLUICE_TRY(work.spend_text(key.text()->size()));
    return Value(lower(*key.text()));
  }
};

using Keyed = std::pair<Value, Value>;  ///< key, element

/// Stable. Fails: kInvalidArgument for keys without an order.
Result<std::vector<Value>> sorted(std::vector<Keyed> items, bool is_reverse, Work& work) {
  // The first error ends all comparisons as "equal".
  Status failure;
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    if (!failure.is_ok()) return false;
    // A reverse sort turns the comparison, not the result: equal elements keep their order, as in
    // Python.
    const auto order =
        is_reverse ? order_of(b.first, a.first, work) : order_of(a.first, b.first, work);
    if (!order.is_ok()) failure = order.status();
    return order.is_ok() && *order < 0;
  });
  // An inconsistent order would be undefined behaviour of a sort; "all equal" is a consistent one.
  SLUICE_TRY(std::move(failure));
  std::vector<Value> values;
  for (Keyed& item : items) values.push_back(std::move(item.second));
  return values;
}

Result<std::vector<Keyed>> with_keys(const Value& value, const Key& key, Work& work) {
  const ListPtr items = SLUICE_TRY(elements_of(value, work));
  // Keys are found once per element, not once per comparison: a path may lead through several
  // fields.
  SLUICE_TRY(work.spend(2 * Work::kElementUnits * items->items.size()));
  std::vector<Keyed> keyed;
  for (const Value& item : items->items) {
    Value of_item = SLUICE_TRY(key.of(item, work));
    keyed.emplace_back(std::move(of_item), item);
  }
  return keyed;
}

Result<Value> sort(const Value& value, Call& call) {
  Key key;
  const bool is_reverse = SLUICE_TRY(call.truth_or("reverse", false));
  key.is_case_sensitive = SLUICE_TRY(call.truth_or("case_sensitive", false));
  key.path = SLUICE_TRY(call.value_or("attribute", None{}));
  auto keyed = SLUICE_TRY(with_keys(value, key, call.work));
  auto items = SLUICE_TRY(sorted(std::move(keyed), is_reverse, call.work));
  return make_list(std::move(items), call.work);
}

Result<Value> sort_dict(const Value& value, Call& call) {
  Key key;
  if (value.dict() == nullptr) return call.error("takes a dict");
  key.is_case_sensitive = SLUICE_TRY(call.truth_or("case_sensitive", false));
  // Pairs are sorted by one of their halves alone; equal ones keep the order of the dictionary.
  const std::string by = SLUICE_TRY(call.text_or("by", "key"));
  const bool is_reverse = SLUICE_TRY(call.truth_or("reverse", false));
  std::vector<Keyed> keyed;
  for (const auto& [name, entry] : value.dict()->entries) {
    Value pair = SLUICE_TRY(make_list({name, entry}, call.work, true));
    Value of_entry = SLUICE_TRY(key.of(by == "value" ? entry : name, call.work));
    keyed.emplace_back(std::move(of_entry), std::move(pair));
  }
  auto items = SLUICE_TRY(sorted(std::move(keyed), is_reverse, call.work));
  return make_list(std::move(items), call.work);
}

Result<Value> unique(const Value& value, Call& call) {
  Key key;
  key.is_case_sensitive = SLUICE_TRY(call.truth_or("case_sensitive", false));
  key.path = SLUICE_TRY(call.value_or("attribute", None{}));
  auto keyed = SLUICE_TRY(with_keys(value, key, call.work));
  std::vector<Value> keys;
  std::vector<Value> kept;
  for (Keyed& item : keyed) {
    // Values have no hash: a search compares keys one by one, and the budget bounds the square.
    bool is_known = false;
    for (const Value& known : keys) {
      is_known = is_known || SLUICE_TRY(are_equal(known, item.first, call.work));
    }
    if (is_known) continue;
    keys.push_back(std::move(item.first));
    kept.push_back(std::move(item.second));
  }
  return make_list(std::move(kept), call.work);
}

/// The smallest or largest; undefined of none.
template <bool is_largest>
Result<Value> extreme(const Value& value, Call& call) {
  Key key;
  key.is_case_sensitive = SLUICE_TRY(call.truth_or("case_sensitive", false));
  key.path = SLUICE_TRY(call.value_or("attribute", None{}));
  const auto keyed = SLUICE_TRY(with_keys(value, key, call.work));
  if (keyed.empty()) return Value(Undefined{});
  const Keyed* best = keyed.data();
  for (const Keyed& item : keyed) {
    const auto order = SLUICE_TRY(order_of(item.first, best->first, call.work));
    // The first of equal elements wins, for min and max alike.
    if (is_largest ? order > 0 : order < 0) best = &item;
  }
  return best->second;
}

Result<Value> sum(const Value& value, Call& call) {
  // Sums add texts as well, so their letters must stay.
  Key key{.is_case_sensitive = true};
  key.path = SLUICE_TRY(call.value_or("attribute", None{}));
  Value total = SLUICE_TRY(call.value_or("start", Value(std::int64_t{0})));
  for (const auto& [number, item] : SLUICE_TRY(with_keys(value, key, call.work))) {
    total = SLUICE_TRY(compute(Operator::kAdd, total, number, call.work));
  }
  return total;
}

template <bool is_last>
Result<Value> end(const Value& value, Call& call) {
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  if (items->items.empty()) return Value(Undefined{});
  return is_last ? items->items.back() : items->items.front();
}

/// Makes a list of a tuple, of a text's characters, or of a dictionary's keys.
Result<Value> list(const Value& value, Call& call) {
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  return make_list(items->items, call.work);
}

Result<Value> reverse(const Value& value, Call& call) {
  Slice backwards;
  backwards.step = -1;
  if (value.text() != nullptr) return slice_of(value, backwards, call.work);
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  return make_list({items->items.rbegin(), items->items.rend()}, call.work);
}

Result<Value> dict_items(const Value& value, Call& call) {
  if (value.is_undefined()) return make_list({}, call.work);
  if (value.dict() == nullptr) return call.error("takes a dict");
  return invoke(find_method(value, "items")->function, value, call);
}

Result<Value> join_items(const Value& value, Call& call) {
  const Value given = SLUICE_TRY(call.value_or("d", Value("")));
  const std::string separator = SLUICE_TRY(to_text(given, call.work));
  const Value path = SLUICE_TRY(call.value_or("attribute", None{}));
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  std::string joined;
  for (const Value& item : items->items) {
    Value part = item;
    if (!path.is_none()) part = SLUICE_TRY(item_at_path(item, path, call.work));
    if (&item != items->items.data()) joined += separator;
    joined += SLUICE_TRY(to_text(part, call.work));
    // to_text has paid for the part. The size is checked here because parts may be shared texts.
    SLUICE_TRY(call.work.spend(separator.size()));
    SLUICE_TRY(Work::check_text(joined.size()));
  }
  SLUICE_TRY(call.work.spend_text(joined.size()));
  return Value(std::move(joined));
}

/// `map(attribute="role")`, or `map("upper")` with the arguments of that filter.
Result<Value> map(const Value& value, Call& call) {
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  std::vector<Value> mapped;
  // Taking the rest leaves none for finish() to refuse: the arguments are those of the inner
  // filter.
  Arguments arguments{call.rest(), call.named_rest()};
  if (arguments.positional.empty()) {
    Call own("map", std::move(arguments), call.work);
    const Value path = SLUICE_TRY(own.value("attribute"));
    const Value otherwise = SLUICE_TRY(own.value_or("default", Undefined{}));
    SLUICE_TRY(own.finish());
    for (const Value& item : items->items) {
      const Value field = SLUICE_TRY(item_at_path(item, path, call.work));
      mapped.push_back(field.is_undefined() ? otherwise : field);
    }
    return make_list(std::move(mapped), call.work);
  }
  const Value name = arguments.positional.front();
  arguments.positional.erase(arguments.positional.begin());
  const NamedFunction* filter = name.text() != nullptr ? find_filter(*name.text()) : nullptr;
  if (filter == nullptr) return call.error("there is no such filter");
  // Filters that call filters, such as map(map(..)), count as nested.
  SLUICE_TRY(call.work.enter());
  for (const Value& item : items->items) {
    Call one(filter->name, arguments, call.work);
    auto result = invoke(filter->function, item, one);
    if (!result.is_ok()) return result;
    mapped.push_back(std::move(result).value());
  }
  call.work.leave();
  return make_list(std::move(mapped), call.work);
}

/// `select("test", ..)`, `selectattr("field", "test", ..)` and their opposites; without a test,
/// what is true.
template <bool has_field, bool is_wanted>
Result<Value> select(const Value& value, Call& call) {
  Value path = None{};
  if (has_field) path = SLUICE_TRY(call.value("attribute"));
  const Value name = SLUICE_TRY(call.value_or("test", None{}));
  const Arguments arguments{call.rest(), call.named_rest()};
  const NamedFunction* test = name.text() != nullptr ? find_test(*name.text()) : nullptr;
  if (test == nullptr && !name.is_none()) return call.error("there is no such test");
  const ListPtr items = SLUICE_TRY(elements_of(value, call.work));
  std::vector<Value> kept;
  for (const Value& item : items->items) {
    // An element that a test drops leaves no trace in memory, so the step is paid for here.
    SLUICE_TRY(call.work.spend(Work::kStepUnits));
    Value tested = item;
    if (has_field) tested = SLUICE_TRY(item_at_path(item, path, call.work));
    bool fits = tested.is_true();
    if (test != nullptr) {
      Call one(test->name, arguments, call.work);
      const Value answer = SLUICE_TRY(invoke(test->function, tested, one));
      fits = answer.is_true();
    }
    if (fits == is_wanted) kept.push_back(item);
  }
  return make_list(std::move(kept), call.work);
}

constexpr NamedFunction kListFilters[] = {
    {"dictsort", sort_dict},
    {"first", end<false>},
    {"items", dict_items},
    {"join", join_items},
    {"last", end<true>},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<true, false>},
    {"reverse", reverse},
    {"select", select<false, true>},
    {"selectattr", select<true, true>},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

const NamedFunction* find_list_filter(std::string_view name) {
  return find_function(kListFilters, name);
}

}  // namespace sluice::text::jinja
