#include "http/open_inference/json_elements.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/checked.h"
#include "base/utf8.h"
#include "http/json_text.h"
#include "open_inference/datatypes.h"
#include "open_inference/texts.h"

namespace sluice::http {
namespace {

using ir::ElementType;
using simdjson::dom::element;

template <typename T>
Result<T> value_of(element from) {
  if constexpr (std::is_same_v<T, bool>) {
    bool value = false;
    if (!from.get(value)) return value;
    return bad_input("an element is neither true nor false");
  } else if constexpr (std::is_floating_point_v<T>) {
    double value = 0;
    if (from.get(value)) return bad_input("an element is no number");
    // Rounding to f32 is what the client asks for; an infinity is not.
    if (std::isinf(static_cast<T>(value))) return bad_input("{} does not fit the type", value);
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    std::uint64_t value = 0;
    if (!from.get(value)) return value;
    const auto number = whole_number(from);
    if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
    return bad_input("an element is no whole number, or does not fit the type");
  } else {
    const auto value = whole_number(from);
    if (!value) return bad_input("an element is no whole number, or does not fit the type");
    if (*value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
      return bad_input("{} does not fit the type", *value);
    }
    return static_cast<T>(*value);
  }
}

/// Calls `take` for each element of a list, in row-major order. The parser bounds the depth.
template <typename Take>
Status for_each(element list, const Take& take) {
  simdjson::dom::array items;
  if (list.get(items)) return take(list);
  for (const element item : items) {
    SLUICE_TRY(item.is_array() ? for_each(item, take) : take(item));
  }
  return ok_status();
}

template <typename T>
Result<std::string> read_numbers(element list) {
  std::string bytes;
  SLUICE_TRY(for_each(list, [&](element item) -> Status {
    const T value = SLUICE_TRY(value_of<T>(item));
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return ok_status();
  }));
  return bytes;
}

Result<std::string> read_texts(element list) {
  std::vector<std::string_view> texts;
  SLUICE_TRY(for_each(list, [&](element item) -> Status {
    std::string_view text;
    if (item.get(text)) return bad_input("an element is no string");
    texts.push_back(text);
    return ok_status();
  }));
  return open_inference::write_texts(texts);
}

template <typename T>
Status write_numbers(std::string_view bytes, std::string& to) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    if (at > 0) to += ',';
    if constexpr (std::is_same_v<T, bool>) {
      to += value ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        return bad_input("it holds {}, which JSON does not have; ask for binary data", value);
      }
      // Readers take "-0" for a whole number, which has no sign.
      if (value == 0 && std::signbit(value)) {
        to += "-0.0";
      } else {
        fmt::format_to(std::back_inserter(to), "{}", value);
      }
    } else {
      fmt::format_to(std::back_inserter(to), "{:d}", value);
    }
  }
  return ok_status();
}

Status write_texts(const open_inference::OutputTensor& output, std::string& to) {
  const auto count = checked_product(output.shape).value_or(0);
  const auto texts = SLUICE_TRY(open_inference::read_texts(output.bytes, count));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (valid_utf8(texts[i]) != texts[i]) {
      return bad_input("a string is not UTF-8; ask for binary data");
    }
    if (i > 0) to += ',';
    to += quoted_json(texts[i]);
  }
  return ok_status();
}

}  // namespace

std::optional<std::int64_t> whole_number(element from) {
  std::int64_t whole = 0;
  if (!from.get(whole)) return whole;
  double value = 0;
  constexpr double kMostExact = 9007199254740992.0;  // 2^53: behind it doubles leave numbers out
  const bool is_whole =
      !from.get(value) && std::abs(value) <= kMostExact && value == std::trunc(value);
  if (!is_whole) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Result<std::string> read_elements(element list, ElementType type) {
  switch (type) {
    case ElementType::kBool: return read_numbers<bool>(list);
    case ElementType::kI8: return read_numbers<std::int8_t>(list);
    case ElementType::kI16: return read_numbers<std::int16_t>(list);
    case ElementType::kI32: return read_numbers<std::int32_t>(list);
    case ElementType::kI64: return read_numbers<std::int64_t>(list);
    case ElementType::kU8: return read_numbers<std::uint8_t>(list);
    case ElementType::kU16: return read_numbers<std::uint16_t>(list);
    case ElementType::kU32: return read_numbers<std::uint32_t>(list);
    case ElementType::kU64: return read_numbers<std::uint64_t>(list);
    case ElementType::kF32: return read_numbers<float>(list);
    case ElementType::kF64: return read_numbers<double>(list);
    case ElementType::kString: return read_texts(list);
    default: break;
  }
  return bad_input("{} in JSON; send binary data", ir::element_type_name(type));
}

Status write_elements(const open_inference::OutputTensor& output, std::string& to) {
  const auto type = open_inference::find_datatype(output.datatype);
  switch (type.value_or(ElementType::kUndefined)) {
    case ElementType::kBool: return write_numbers<bool>(output.bytes, to);
    case ElementType::kI8: return write_numbers<std::int8_t>(output.bytes, to);
    case ElementType::kI16: return write_numbers<std::int16_t>(output.bytes, to);
    case ElementType::kI32: return write_numbers<std::int32_t>(output.bytes, to);
    case ElementType::kI64: return write_numbers<std::int64_t>(output.bytes, to);
    case ElementType::kU8: return write_numbers<std::uint8_t>(output.bytes, to);
    case ElementType::kU16: return write_numbers<std::uint16_t>(output.bytes, to);
    case ElementType::kU32: return write_numbers<std::uint32_t>(output.bytes, to);
    case ElementType::kU64: return write_numbers<std::uint64_t>(output.bytes, to);
    case ElementType::kF32: return write_numbers<float>(output.bytes, to);
    case ElementType::kF64: return write_numbers<double>(output.bytes, to);
    case ElementType::kString: return write_texts(output, to);
    default: break;
  }
  return bad_input("JSON does not have {}; ask for binary data", output.datatype);
}

}  // namespace sluice::http
