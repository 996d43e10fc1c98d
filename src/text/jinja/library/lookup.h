// Fields, items and elements of values.
#pragma once

#include <string_view>

#include "text/jinja/values/strings.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// `value.name`: a method, else the entry of a dict, else undefined.
/// Fails: kInvalidArgument for a field of what is undefined.
Result<Value> attribute_of(const Value& value, std::string_view name, Work& work);

/// `value[key]`: an element by number, an entry of a dict, else as `attribute_of`.
Result<Value> item_of(const Value& value, const Value& key, Work& work);

/// A path such as "function.name", as filters take it. `path` may be a number.
Result<Value> item_at_path(const Value& value, const Value& path, Work& work);

/// `value[start:stop:step]`. Fails: kInvalidArgument for what is neither text nor list.
Result<Value> slice_of(const Value& value, const Slice& slice, Work& work);

/// What a loop goes over: elements, characters, or keys; none of what is undefined.
/// Fails: kInvalidArgument for what has no elements.
Result<ListPtr> elements_of(const Value& value, Work& work);

}  // namespace sluice::text::jinja
