#include "sluice/tensors/json_value.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text/plural.h"
#include "ir/numbers/short_float.h"
#include "ir/texts.h"

namespace sluice::tool {
namespace {

using Json = nlohmann::json;
using Element = ir::ElementType;

// A bound for the parser's memory, and for what `has_elements` multiplies.
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20;
/// Value, list of items, item, data: deeper nesting is no value, and costs stack.
constexpr int kMaxDepth = 6;

// Elements are appended in the byte order of packages, little-endian, which is the host's.
template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* start = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), start, start + sizeof(value));
}

/// JSON has no word for some numbers: they are the strings "nan", "inf" and "-inf".
std::optional<double> float_of(const Json& element) {
  if (element.is_number()) return element.get<double>();
  if (!element.is_string()) return std::nullopt;
  const auto& word = element.get_ref<const std::string&>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool append_float(Element type, const Json& element, std::vector<std::byte>& bytes) {
  const std::optional<double> value = float_of(element);
  if (!value) return false;
  switch (type) {
    case Element::kF64: append(bytes, *value); return true;
    case Element::kF32: append(bytes, static_cast<float>(*value)); return true;
    case Element::kF16: append(bytes, ir::narrow_to_f16(static_cast<float>(*value))); return true;
    case Element::kBf16: append(bytes, ir::narrow_to_bf16(static_cast<float>(*value))); return true;
    default: return false;
  }
}

bool is_signed(Element type) {
  return type == Element::kI2 || type == Element::kI4 || type == Element::kI8 ||
         type == Element::kI16 || type == Element::kI32 || type == Element::kI64;
}

/// The two's complement bits of an integer that fits `bits` bits.
std::optional<std::uint64_t> integer_bits(const Json& element, int bits, bool has_sign) {
  if (!element.is_number_integer()) return std::nullopt;
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  if (element.is_number_unsigned()) {
    const auto value = element.get<std::uint64_t>();
    return value <= (has_sign ? mask >> 1U : mask) ? std::optional(value) : std::nullopt;
  }
  const auto value = element.get<std::int64_t>();
  const auto lowest = -static_cast<std::int64_t>(mask >> 1U) - 1;
  if (value >= 0) return integer_bits(Json(static_cast<std::uint64_t>(value)), bits, has_sign);
  return has_sign && value >= lowest ? std::optional(static_cast<std::uint64_t>(value) & mask)
                                     : std::nullopt;
}

/// Appends element `index`. Types narrower than a byte fill each byte from its lowest bits.
bool append_integer(Element type, const Json& element, std::size_t index,
                    std::vector<std::byte>& bytes) {
  const int bits = ir::element_bits(type);
  const auto value = integer_bits(element, bits, is_signed(type));
  if (!value) return false;
  if (bits < 8) {
    const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
    if (index % per_byte == 0) bytes.push_back(std::byte{0});
    bytes.back() |= static_cast<std::byte>(*value << (index % per_byte * bits));
    return true;
  }
  for (int shift = 0; shift < bits; shift += 8) {
    bytes.push_back(static_cast<std::byte>(*value >> shift & 255U));
  }
  return true;
}

bool append_element(Element type, const Json& element, std::size_t index,
                    std::vector<std::byte>& bytes) {
  if (ir::is_integer(type)) return append_integer(type, element, index, bytes);
  if (type != Element::kBool) return append_float(type, element, bytes);
  if (!element.is_boolean()) return false;
  bytes.push_back(element.get<bool>() ? std::byte{1} : std::byte{0});
  return true;
}

bool is_supported(Element type) {
  return ir::is_integer(type) || type == Element::kBool || type == Element::kString ||
         type == Element::kF64 || type == Element::kF32 || type == Element::kF16 ||
         type == Element::kBf16;
}

Result<ir::Shape> parse_shape(const Json& shape) {
  if (!shape.is_array()) return invalid_argument("\"shape\" must be a list of dimensions");
  ir::Shape dims;
  for (const Json& dim : shape) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > (std::uint64_t{1} << 40)) {
      return invalid_argument("\"shape\": {} is not a dimension", dim.dump());
    }
    dims.emplace_back(dim.get<std::int64_t>());
  }
  return dims;
}

/// Whether the product of the dimensions is `count`.
bool has_elements(const ir::Shape& shape, std::size_t count) {
  std::uint64_t product = 1;
  for (const ir::Dim& dim : shape) {
    const auto factor = static_cast<std::uint64_t>(dim.value());
    if (factor != 0 && product > kMaxTextBytes / factor) return false;
    product *= factor;
  }
  return product == count;
}

Result<ir::Constant> parse_texts(const Json& data, ir::Shape shape) {
  std::vector<std::string_view> texts;
  for (const Json& element : data) {
    if (!element.is_string()) {
      return invalid_argument("\"data\": {} is not a string", element.dump());
    }
    texts.push_back(element.get_ref<const std::string&>());
  }
  return ir::make_text_constant(texts, std::move(shape));
}

Result<ir::Constant> parse_tensor(const Json& json) {
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string() ||
      !json.contains("shape") || !json.contains("data") || !json["data"].is_array()) {
    return invalid_argument(
        "a tensor is written {{\"type\": \"f32\", \"shape\": [2], \"data\": [1, 2]}}");
  }
  const auto& name = json["type"].get_ref<const std::string&>();
  const auto type = ir::find_element_type(name);
  if (!type) return invalid_argument("\"type\": \"{}\" is not an element type", name);
  if (!is_supported(*type)) return unimplemented("\"type\": {} cannot be given as JSON", name);
  ir::Shape shape = SLUICE_TRY(parse_shape(json["shape"]));
  const Json& data = json["data"];
  if (!has_elements(shape, data.size())) {
    return invalid_argument("\"data\" has {}, \"shape\" {} needs another number",
                            counted(data.size(), "element"), json["shape"].dump());
  }
  if (*type == Element::kString) return parse_texts(data, std::move(shape));
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (append_element(*type, data[i], i, bytes)) continue;
    return invalid_argument("\"data\": element {} does not fit {}", i, name);
  }
  return ir::Constant{ir::Type::tensor(*type, std::move(shape)), Bytes::own(std::move(bytes))};
}

Json element_json(const ir::Constant& tensor, std::size_t index) {
  const Element type = tensor.type.element();
  const int bits = ir::element_bits(type);
  std::uint64_t value = 0;
  const std::size_t first_bit = index * static_cast<std::size_t>(bits);
  const std::size_t num_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(bits) / 8);
  std::memcpy(&value, tensor.data.data() + first_bit / 8, num_bytes);
  value >>= first_bit % 8;
  double number = 0;
  if (type == Element::kBool) return Json(value != 0);
  if (ir::is_integer(type)) {
    // Shifting up and down again extends the sign, or clears what other elements have in the byte.
    const int unused = 64 - bits;
    if (is_signed(type)) return Json(static_cast<std::int64_t>(value << unused) >> unused);
    return Json(value << unused >> unused);
  }
  if (type == Element::kF64) std::memcpy(&number, &value, sizeof(number));
  if (type == Element::kF16) number = ir::widen_f16(static_cast<std::uint16_t>(value));
  if (type == Element::kBf16) number = ir::widen_bf16(static_cast<std::uint16_t>(value));
  if (type == Element::kF32) {
    float single = 0;
    std::memcpy(&single, &value, sizeof(single));
    number = single;
  }
  if (std::isnan(number)) return Json("nan");
  if (std::isinf(number)) return Json(number > 0 ? "inf" : "-inf");
  return Json(number);
}

/// Requires: is_supported.
Json tensor_json(const ir::Constant& tensor) {
  const Element type = tensor.type.element();
  Json data = Json::array();
  const auto dims = *tensor.type.static_dims();
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  if (type == Element::kString) {
    for (const std::string_view text : ir::unpack_texts(tensor)) data.push_back(std::string(text));
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      data.push_back(element_json(tensor, static_cast<std::size_t>(i)));
    }
  }
  return Json{{"type", std::string(ir::element_type_name(type))}, {"shape", dims}, {"data", data}};
}

Result<Value> value_of(const Json& json) {
  if (!json.is_object() || !json.contains("sequence"))
    return Value{SLUICE_TRY(parse_tensor(json)), {}};
  if (!json["sequence"].is_array())
    return invalid_argument("\"sequence\" must be a list of tensors");
  std::vector<ir::Constant> items;
  for (const Json& item : json["sequence"]) {
    auto tensor = parse_tensor(item);
    items.push_back(SLUICE_TRY(
        std::move(tensor).with_context(fmt::format("item {} of the sequence", items.size()))));
    if (items.back().type.element() == items.front().type.element()) continue;
    return invalid_argument("the items of a sequence have one element type");
  }
  return Value{{}, std::move(items)};
}

}  // namespace

Result<Value> parse_json_value(std::string_view text) {
  if (text.size() > kMaxTextBytes) return invalid_argument("the JSON text is over 256 MiB");
  bool is_deep = false;
  const auto refuse_deep = [&](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
    is_deep = is_deep || depth > kMaxDepth;
    return !is_deep;
  };
  const Json json = Json::parse(text.begin(), text.end(), refuse_deep, /*allow_exceptions=*/false);
  if (json.is_discarded() || is_deep) return invalid_argument("the text is not JSON of a tensor");
  return value_of(json);
}

Result<std::string> print_json_value(const Value& value) {
  std::vector<ir::Constant> tensors = value.sequence.value_or(std::vector<ir::Constant>());
  if (value.tensor) tensors.push_back(*value.tensor);
  Json items = Json::array();
  for (const ir::Constant& tensor : tensors) {
    if (!is_supported(tensor.type.element())) {
      return unimplemented("{} cannot be written as JSON",
                           ir::element_type_name(tensor.type.element()));
    }
    items.push_back(tensor_json(tensor));
  }
  const Json json = value.tensor ? items.back() : Json{{"sequence", items}};
  // Strings of a model may be any bytes; JSON takes UTF-8 only.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::tool
