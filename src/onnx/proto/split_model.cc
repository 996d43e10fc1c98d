#include "onnx/proto/split_model.h"

#include <cstddef>
#include <cstdint>

namespace sluice::onnx {
namespace {

using Span = std::span<const std::byte>;

// Numbers of fields in onnx.proto.
constexpr std::uint64_t kModelGraph = 7;
constexpr std::uint64_t kGraphInitializer = 5;
constexpr std::uint64_t kTensorRawData = 9;
/// What moves is at least a page: smaller pieces cost more than their copy.
constexpr std::size_t kMinBytes = 4096;

struct Field {
  std::uint64_t number = 0;
  bool has_payload = false;  ///< a message, a string or bytes
  Span whole;                ///< with its tag
  Span payload;
};

std::optional<std::uint64_t> take_varint(Span& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(rest.front());
    rest = rest.subspan(1);
    value |= (byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

/// Takes one field off the front. Nullopt for truncated fields and groups, which ONNX does not use.
std::optional<Field> take_field(Span& rest) {
  const Span begin = rest;
  const auto tag = take_varint(rest);
  if (!tag) return std::nullopt;
  Field field;
  field.number = *tag >> 3U;
  std::optional<std::uint64_t> size;
  switch (*tag & 7U) {
    case 0: size = take_varint(rest) ? std::optional<std::uint64_t>(0) : std::nullopt; break;
    case 1: size = 8; break;
    case 2:
      size = take_varint(rest);
      field.has_payload = true;
      break;
    case 5: size = 4; break;
    default: break;
  }
  if (!size || *size > rest.size()) return std::nullopt;
  field.payload = rest.first(static_cast<std::size_t>(*size));
  rest = rest.subspan(static_cast<std::size_t>(*size));
  field.whole = begin.first(begin.size() - rest.size());
  return field;
}

void append(std::string& out, Span bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) out.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

/// Copies a message. `inner` copies the fields of one number, which are messages too.
template <typename Inner>
bool copy_message(Span message, std::uint64_t number, std::string& out, const Inner& inner) {
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field) return false;
    if (field->number != number || !field->has_payload) {
      append(out, field->whole);
      continue;
    }
    std::string copied;
    if (!inner(field->payload, copied)) return false;
    append_varint(out, number << 3U | 2U);
    append_varint(out, copied.size());
    out += copied;
  }
  return true;
}

/// The raw data of a tensor if it is worth to be taken out. A field that comes twice stays: the
/// last one counts.
std::optional<Field> find_raw_data(Span tensor) {
  std::optional<Field> found;
  while (!tensor.empty()) {
    const auto field = take_field(tensor);
    if (!field) return std::nullopt;
    if (field->number != kTensorRawData) continue;
    if (found || !field->has_payload || field->payload.size() < kMinBytes) return std::nullopt;
    found = field;
  }
  return found;
}

}  // namespace

std::optional<SplitModel> split_model(Span bytes) {
  SplitModel split;
  bool is_split = false;
  const auto copy_tensor = [&](Span tensor, std::string& out) {
    const auto raw = find_raw_data(tensor);
    split.raw.push_back(raw ? raw->payload : Span());
    if (!raw) {
      append(out, tensor);
      return true;
    }
    is_split = true;
    const auto before = static_cast<std::size_t>(raw->whole.data() - tensor.data());
    append(out, tensor.first(before));
    append(out, tensor.subspan(before + raw->whole.size()));
    return true;
  };
  const auto copy_graph = [&](Span graph, std::string& out) {
    return copy_message(graph, kGraphInitializer, out, copy_tensor);
  };
  const bool is_copied = copy_message(bytes, kModelGraph, split.message, copy_graph);
  if (!is_copied || !is_split) return std::nullopt;
  return split;
}

}  // namespace sluice::onnx
