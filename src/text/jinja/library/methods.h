// Methods of texts, lists and dicts: Python's, but for those that change their owner.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/library/function.h"

namespace sluice::text::jinja {

/// Null: values of this kind have no such method.
const NamedFunction* find_method(const Value& value, std::string_view name);

const NamedFunction* find_text_method(std::string_view name);

// What filters share with methods.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
/// At most `count` times; negative: all. Fails: kResourceExhausted.
Result<std::string> replace(std::string_view text, std::string_view from, std::string_view to,
                            std::int64_t count, Work& work);

}  // namespace sluice::text::jinja
