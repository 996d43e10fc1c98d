#include "weights/gguf/header_reader.h"

#include <bit>
#include <cmath>
#include <utility>

#include "base/utf8.h"

namespace sluice::weights {
namespace {

static_assert(std::endian::native == std::endian::little);

/// gguf_metadata_value_type of the format.
enum ValueType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kList,
  kU64,
  kI64,
  kF64,
};

/// A value takes 16 bytes or more of memory and may take one of the file. Large vocabularies have
/// 256 thousand tokens with a score and a type, and half a million merges.
constexpr std::size_t kMaxValues = std::size_t{1} << 23U;

}  // namespace

Status HeaderReader::ended() const {
  return invalid_argument("the file ends within its header, at byte {}", position_);
}

Result<std::string> HeaderReader::text() {
  const auto length = SLUICE_TRY(number<std::uint64_t>());
  if (length > left()) return ended();
  std::string text(reinterpret_cast<const char*>(bytes_.data()) + position_,
                   static_cast<std::size_t>(length));
  if (valid_utf8(text) != text) {
    return invalid_argument("the text at byte {} is not UTF-8", position_);
  }
  position_ += text.size();
  return text;
}

Result<nlohmann::json> HeaderReader::value() {
  const auto type = SLUICE_TRY(number<std::uint32_t>());
  if (type != kList) return value_of(type);
  SLUICE_TRY(count_value());
  return list();
}

Status HeaderReader::count_value() {
  if (++num_values_ <= kMaxValues) return ok_status();
  return invalid_argument("the metadata have more than {} values", kMaxValues);
}

Result<nlohmann::json> HeaderReader::list() {
  const auto type = SLUICE_TRY(number<std::uint32_t>());
  const auto count = SLUICE_TRY(number<std::uint64_t>());
  if (type == kList) return unimplemented("a list of lists is not supported");
  // Each element takes a byte at least.
  if (count > left()) return ended();
  nlohmann::json list = nlohmann::json::array();
  for (std::uint64_t i = 0; i < count; ++i) list.push_back(SLUICE_TRY(value_of(type)));
  return list;
}

template <typename T>
Result<nlohmann::json> HeaderReader::number_value() {
  const T value = SLUICE_TRY(number<T>());
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return invalid_argument("a number is not finite");
  }
  return nlohmann::json(value);
}

Result<nlohmann::json> HeaderReader::value_of(std::uint32_t type) {
  SLUICE_TRY(count_value());
  switch (type) {
    case kU8: return number_value<std::uint8_t>();
    case kI8: return number_value<std::int8_t>();
    case kU16: return number_value<std::uint16_t>();
    case kI16: return number_value<std::int16_t>();
    case kU32: return number_value<std::uint32_t>();
    case kI32: return number_value<std::int32_t>();
    case kF32: return number_value<float>();
    case kU64: return number_value<std::uint64_t>();
    case kI64: return number_value<std::int64_t>();
    case kF64: return number_value<double>();
    case kBool: {
      const auto truth = SLUICE_TRY(number<std::uint8_t>());
      return nlohmann::json(truth != 0);
    }
    case kText: {
      std::string text_value = SLUICE_TRY(text());
      return nlohmann::json(std::move(text_value));
    }
    default: return invalid_argument("a value has the type {}, which is not known", type);
  }
}

}  // namespace sluice::weights
