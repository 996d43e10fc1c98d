// Filters and tests: `value | name(..)` and `value is name(..)`.
#pragma once

#include <string_view>

#include "text/jinja/library/function.h"

namespace sluice::text::jinja {

/// Null: there is no such filter.
const NamedFunction* find_filter(std::string_view name);
/// Those over lists, which find_filter knows, too.
const NamedFunction* find_list_filter(std::string_view name);

/// Null: there is no such test. A test gives true or false.
const NamedFunction* find_test(std::string_view name);

}  // namespace sluice::text::jinja
