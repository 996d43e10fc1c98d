// Values of a configuration's fields, and errors that name their lines.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/utf8.h"
#include "ir/element_type.h"
#include "repository/text_format/text_format.h"

namespace sluice::repository {

template <typename... Args>
Status fail(const TextField& field, Code code, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(code, "line {}: {}: {}", field.line, shown(field.name),
                    fmt::format(format, std::forward<Args>(args)...));
}

/// These fail: kInvalidArgument for another value.
Result<std::int64_t> int_of(const TextField& field, std::int64_t least, std::int64_t most);
Result<bool> bool_of(const TextField& field);
Result<std::string> text_of(const TextField& field);
/// TYPE_FP32 and its like.
Result<ir::ElementType> type_of(const TextField& field);

/// A field that would change results or answers if it were passed over. The model is refused then:
/// a configuration that half works is found in production.
Status unserved(const TextField& field, std::string_view why);

}  // namespace sluice::repository
