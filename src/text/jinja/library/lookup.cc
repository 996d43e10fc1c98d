#include "text/jinja/library/lookup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/number.h"
#include "text/jinja/library/methods.h"
#include "text/jinja/values/compare.h"

namespace sluice::text::jinja {
namespace {

/// The name is cut to 100 bytes: the key may be a text of the template's making, and messages are
/// shown.
Value undefined(const Value& owner, std::string_view name) {
  return Undefined{std::make_shared<const std::string>(
      fmt::format("{} of {}", name.substr(0, 100), owner.kind()))};
}

/// The element of a negative number is counted from the end. nullopt: there is none.
std::optional<std::size_t> place_of(std::int64_t index, std::int64_t count) {
  if (index < -count || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

Result<std::optional<Value>> element_at(const Value& value, std::int64_t index, Work& work) {
  if (const auto* list = value.list()) {
    const auto at = place_of(index, static_cast<std::int64_t>(list->items.size()));
    return at ? std::optional(list->items[*at]) : std::nullopt;
  }
  if (const auto* text = value.text()) {
    // The index counts characters, and UTF-8 must be walked for it: an index costs as much as a
    // pass.
    SLUICE_TRY(work.spend(text->size() / 4));
    const auto at = place_of(index, count_characters(*text));
    if (!at) return std::optional<Value>();
    std::size_t begin = 0;
    // Bytes 10xxxxxx continue a character. Texts are valid UTF-8 (checked where they enter), so the
    // walk never leaves the text.
    const auto starts = [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    };
    for (std::size_t left = *at; left > 0; --left) {
      do ++begin;
      while (!starts((*text)[begin]));
    }
    std::size_t end = begin + 1;
    while (end < text->size() && !starts((*text)[end])) ++end;
    return std::optional(Value(std::string_view(*text).substr(begin, end - begin)));
  }
  return std::optional<Value>();
}

Result<std::optional<Value>> entry_of(const Dict& dict, const Value& key, Work& work) {
  // Entries keep their order and keys are of any kind, so a search compares them one by one.
  SLUICE_TRY(work.spend(dict.entries.size()));
  for (const auto& [name, value] : dict.entries) {
    if (SLUICE_TRY(are_equal(name, key, work))) return std::optional(value);
  }
  return std::optional<Value>();
}

}  // namespace

Result<Value> attribute_of(const Value& value, std::string_view name, Work& work) {
  SLUICE_TRY(check_defined(value));
  // The order is Jinja's for `a.b`: fields and methods of the value come before entries of a
  // dictionary, so `x.items()` calls the method though x has a key "items".
  if (const Object* object = value.object()) {
    auto field = object->field(name);
    return field ? std::move(*field) : undefined(value, name);
  }
  if (const NamedFunction* method = find_method(value, name)) {
    SLUICE_TRY(work.spend(Work::kElementUnits));
    return Value(ObjectPtr(std::make_shared<BoundFunction>(*method, value)));
  }
  if (const auto* dict = value.dict()) {
    SLUICE_TRY(work.spend(dict->entries.size()));
    if (const Value* found = dict->find(name)) return *found;
  }
  return undefined(value, name);
}

Result<Value> item_of(const Value& value, const Value& key, Work& work) {
  SLUICE_TRY(check_defined(value));
  // The order for `a["b"]` is the other way round: entries first, attributes as a fallback.
  if (const auto* dict = value.dict()) {
    auto found = SLUICE_TRY(entry_of(*dict, key, work));
    if (found) return std::move(*found);
  } else if (const auto index = key.whole()) {
    auto found = SLUICE_TRY(element_at(value, *index, work));
    return found ? std::move(*found) : undefined(value, "element " + std::to_string(*index));
  }
  if (key.text() != nullptr) return attribute_of(value, *key.text(), work);
  return undefined(value, key.kind());
}

Result<Value> item_at_path(const Value& value, const Value& path, Work& work) {
  if (path.text() == nullptr) return item_of(value, path, work);
  // Filters such as map(attribute="a.0.b") take a path; parts that are whole numbers index lists.
  std::string_view left = *path.text();
  Value at = value;
  while (true) {
    const std::size_t end = left.find('.');
    const std::string_view name = left.substr(0, end);
    const auto index = to_number<std::int64_t>(name);
    at = SLUICE_TRY(item_of(at, index ? Value(*index) : Value(name), work));
    if (end == std::string_view::npos) return at;
    left.remove_prefix(end + 1);
  }
}

Result<Value> slice_of(const Value& value, const Slice& slice, Work& work) {
  SLUICE_TRY(check_defined(value));
  if (slice.step == 0) return invalid_argument("the step of a slice is 0");
  if (const auto* list = value.list()) {
    // The whole list is charged although a slice may be short: the bound must hold for every step.
    SLUICE_TRY(work.spend(list->items.size() * 8));
    std::vector<Value> items;
    for (const std::size_t i : indices_of(slice, static_cast<std::int64_t>(list->items.size()))) {
      items.push_back(list->items[i]);
    }
    return make_list(std::move(items), work, list->is_tuple);
  }
  if (const auto* text = value.text()) {
    SLUICE_TRY(work.spend(text->size() * 16));  // the views of its characters
    const auto characters = characters_of(*text);
    std::string part;
    for (const std::size_t i : indices_of(slice, static_cast<std::int64_t>(characters.size()))) {
      part += characters[i];
    }
    return Value(std::move(part));
  }
  return invalid_argument("a {} has no slices", value.kind());
}

Result<ListPtr> elements_of(const Value& value, Work& work) {
  // A list is shared, not copied: lists are immutable. Other kinds make a list that is charged.
  if (const auto* list = std::get_if<ListPtr>(&value.variant())) return *list;
  std::vector<Value> items;
  if (const auto* text = value.text()) {
    SLUICE_TRY(work.spend(text->size() * Work::kElementUnits));
    for (const std::string_view character : characters_of(*text)) items.emplace_back(character);
  } else if (const auto* dict = value.dict()) {
    for (const auto& entry : dict->entries) items.push_back(entry.first);
  } else if (!value.is_undefined()) {
    return invalid_argument("a {} has no elements to go over", value.kind());
  }
  const Value list = SLUICE_TRY(make_list(std::move(items), work));
  return std::get<ListPtr>(list.variant());
}

}  // namespace sluice::text::jinja
