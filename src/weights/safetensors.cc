#include "weights/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/json/json_reader.h"
#include "weights/aligned.h"

namespace sluice::weights {
namespace {

using ir::ElementType;

/// The limit of the format's own reader.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxRank = 16;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 62;
constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, ElementType> kTypes[] = {
    {"BF16", ElementType::kBf16}, {"BOOL", ElementType::kBool},
    {"F16", ElementType::kF16},   {"F32", ElementType::kF32},
    {"F64", ElementType::kF64},   {"F8_E4M3", ElementType::kF8E4M3Fn},
    {"I16", ElementType::kI16},   {"F8_E5M2", ElementType::kF8E5M2},
    {"I32", ElementType::kI32},   {"I64", ElementType::kI64},
    {"I8", ElementType::kI8},     {"U16", ElementType::kU16},
    {"U32", ElementType::kU32},   {"U64", ElementType::kU64},
    {"U8", ElementType::kU8},
};

struct Entry {
  std::string name;
  ir::Type type;
  std::int64_t begin = 0;  ///< bytes behind the header
  std::int64_t end = 0;
};

Result<std::string_view> header_of(const Bytes& file) {
  if (file.size() < kLengthBytes) return invalid_argument("the file ends within its first 8 bytes");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  // The format's length and elements are little-endian, as the host's.
  static_assert(std::endian::native == std::endian::little);
  if (length > kMaxHeaderBytes) {
    return invalid_argument("the header takes {} bytes; at most {} are read", length,
                            kMaxHeaderBytes);
  }
  if (length > file.size() - kLengthBytes) {
    return invalid_argument("the header takes {} bytes, the file has {}", length, file.size());
  }
  return std::string_view(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                          static_cast<std::size_t>(length));
}

/// Looks at the text without a tree of its values: JSON readers keep the last of two members with
/// one name, and a tree of lists in lists takes a hundred times the text.
class HeaderLook : public nlohmann::json_sax<nlohmann::json> {
 public:
  const Status& status() const { return status_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*size*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    // Depth 1 has the names of tensors; deeper ones are the fields of one.
    if (depth_ != 1 || names_.insert(name).second) return true;
    return refuse(invalid_argument("the header has tensor \"{}\" twice", name));
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;  // the reader of the tree says where
  }

 private:
  bool enter() {
    constexpr int kMostDeep = 3;  // the header, an entry, its lists
    if (++depth_ <= kMostDeep) return true;
    return refuse(invalid_argument("the header has values within values, {} deep", depth_));
  }
  bool leave() {
    --depth_;
    return true;
  }
  bool refuse(Status status) {
    status_ = std::move(status);
    return false;
  }

  int depth_ = 0;
  std::set<std::string> names_;
  Status status_;
};

Status look_at(std::string_view header) {
  HeaderLook look;
  nlohmann::json::sax_parse(header, &look);
  return look.status();
}

Result<ElementType> element_of(const JsonValue& entry) {
  const std::string name = SLUICE_TRY(SLUICE_TRY(entry.field("dtype")).as_text());
  const auto* found = std::ranges::find(kTypes, name, [](const auto& type) { return type.first; });
  if (found != std::end(kTypes)) return found->second;
  return unimplemented("the element type \"{}\" is not supported", name);
}

Result<Entry> entry_of(const JsonValue& value, const std::string& name) {
  Entry entry;
  entry.name = name;
  const ElementType element = SLUICE_TRY(element_of(value));
  ir::Shape shape;
  const JsonValue dims = SLUICE_TRY(value.field("shape"));
  // Sizes are bounded one by one here; their product is checked with the type, below.
  for (const JsonValue& dim : SLUICE_TRY(dims.as_items(kMaxRank))) {
    shape.emplace_back(SLUICE_TRY(dim.as_int(0, kMaxSize)));
  }
  const JsonValue offsets = SLUICE_TRY(value.field("data_offsets"));
  const auto range = SLUICE_TRY(offsets.as_items(2));
  if (range.size() != 2) return invalid_argument("data_offsets: expected a begin and an end");
  entry.begin = SLUICE_TRY(range[0].as_int(0, kMaxSize));
  entry.end = SLUICE_TRY(range[1].as_int(entry.begin, kMaxSize));
  entry.type = ir::Type::tensor(element, std::move(shape));
  const auto bytes = ir::storage_bytes(entry.type);
  if (bytes && *bytes == entry.end - entry.begin) return entry;
  return invalid_argument("{} does not fit {} bytes", entry.type.to_string(),
                          entry.end - entry.begin);
}

/// Every byte behind the header belongs to one tensor.
Status check_ranges(std::vector<Entry>& entries, std::int64_t size_bytes) {
  std::ranges::sort(entries, {},
                    [](const Entry& entry) { return std::pair(entry.begin, entry.end); });
  std::int64_t covered = 0;
  for (const Entry& entry : entries) {
    // The format allows neither overlaps nor gaps, so that a file cannot hide bytes.
    if (entry.begin < covered) {
      return invalid_argument("tensor \"{}\": its range overlaps that of another", entry.name);
    }
    if (entry.begin > covered) {
      return invalid_argument("tensor \"{}\": {} bytes before it belong to no tensor", entry.name,
                              entry.begin - covered);
    }
    if (entry.end > size_bytes) {
      return invalid_argument("tensor \"{}\": ends at byte {}, the file has {}", entry.name,
                              entry.end, size_bytes);
    }
    covered = entry.end;
  }
  if (covered == size_bytes) return ok_status();
  return invalid_argument("the last {} bytes belong to no tensor", size_bytes - covered);
}

}  // namespace

Result<Weights> read_safetensors(const Bytes& file) {
  const std::string_view header = SLUICE_TRY(header_of(file));
  SLUICE_TRY(look_at(header));
  const nlohmann::json json = SLUICE_TRY(parse_json(header).with_context("the header"));
  if (!json.is_object()) return invalid_argument("the header is no JSON object");
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) continue;
    auto entry = entry_of(JsonValue(value, ""), name);
    entries.push_back(SLUICE_TRY(std::move(entry).with_context("tensor \"" + name + "\"")));
  }
  const std::size_t start = kLengthBytes + header.size();
  SLUICE_TRY(check_ranges(entries, static_cast<std::int64_t>(file.size() - start)));
  Weights::Map map;
  for (Entry& entry : entries) {
    const Bytes data = file.slice(start + static_cast<std::size_t>(entry.begin),
                                  static_cast<std::size_t>(entry.end - entry.begin));
    const ElementType element = entry.type.element();
    map.emplace(std::move(entry.name), ir::Constant{std::move(entry.type), aligned(data, element)});
  }
  return Weights(std::move(map));
}

}  // namespace sluice::weights
