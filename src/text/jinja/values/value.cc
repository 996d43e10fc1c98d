#include "text/jinja/values/value.h"

#include <algorithm>

#include "text/jinja/values/compare.h"

namespace sluice::text::jinja {
namespace {

template <typename T>
const T* pointee(const Value& value) {
  const auto* held = std::get_if<std::shared_ptr<const T>>(&value.variant());
  return held == nullptr ? nullptr : held->get();
}

Status check_depth(int depth) {
  if (depth <= kMaxValueDepth) return ok_status();
  return make_error(Code::kResourceExhausted, "lists and dicts lie more than {} deep in each other",
                    kMaxValueDepth);
}

}  // namespace

const std::string* Value::text() const { return pointee<std::string>(*this); }
const List* Value::list() const { return pointee<List>(*this); }
const Dict* Value::dict() const { return pointee<Dict>(*this); }

Object* Value::object() const {
  const auto* held = std::get_if<ObjectPtr>(&variant_);
  return held == nullptr ? nullptr : held->get();
}

std::optional<std::int64_t> Value::whole() const {
  if (const auto* truth = std::get_if<bool>(&variant_)) return *truth ? 1 : 0;
  if (const auto* number = std::get_if<std::int64_t>(&variant_)) return *number;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const auto* number = std::get_if<double>(&variant_)) return *number;
  if (const auto number = whole()) return static_cast<double>(*number);
  return std::nullopt;
}

bool Value::is_true() const {
  if (const auto value = number()) return *value != 0;
  if (const auto* value = text()) return !value->empty();
  if (const auto* value = list()) return !value->items.empty();
  if (const auto* value = dict()) return !value->entries.empty();
  return object() != nullptr;
}

std::string_view Value::kind() const {
  constexpr std::string_view kNames[] = {"undefined", "none", "bool", "int",
                                         "float",     "str",  "list", "dict"};
  if (const Object* value = object()) return value->kind();
  return kNames[variant_.index()];
}

int depth_of(const Value& value) {
  if (const auto* list = value.list()) return list->depth;
  if (const auto* dict = value.dict()) return dict->depth;
  if (const auto* object = value.object()) return object->depth();
  return 0;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text() != nullptr && *name.text() == key) return &value;
  }
  return nullptr;
}

Result<Value> make_list(std::vector<Value> items, Work& work, bool is_tuple) {
  SLUICE_TRY(work.spend(Work::kElementUnits * (1 + items.size())));
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  SLUICE_TRY(check_depth(depth + 1));
  return Value(std::make_shared<const List>(List{std::move(items), is_tuple, depth + 1}));
}

Status check_defined(const Value& value, std::string_view what) {
  if (!value.is_undefined()) return ok_status();
  const auto& name = std::get<Undefined>(value.variant()).name;
  return invalid_argument("{} is undefined", name == nullptr ? what : std::string_view(*name));
}

Result<Value> make_dict(const std::vector<std::pair<Value, Value>>& entries, Work& work) {
  Dict dict;
  int depth = 0;
  for (const auto& [key, value] : entries) {
    if (key.list() != nullptr || key.dict() != nullptr || key.object() != nullptr) {
      return invalid_argument("a {} is no key of a dict", key.kind());
    }
    SLUICE_TRY(work.spend(Work::kElementUnits * 2 + dict.entries.size()));
    depth = std::max(depth, depth_of(value));
    auto found = dict.entries.begin();
    while (found != dict.entries.end() && !SLUICE_TRY(are_equal(found->first, key, work))) ++found;
    if (found == dict.entries.end()) {
      dict.entries.emplace_back(key, value);
    } else {
      found->second = value;
    }
  }
  SLUICE_TRY(check_depth(depth + 1));
  dict.depth = depth + 1;
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

std::optional<Value> Object::field(std::string_view /*name*/) const { return std::nullopt; }

Result<Value> Object::call(Call& /*call*/) {
  return invalid_argument("a {} cannot be called", kind());
}

}  // namespace sluice::text::jinja
