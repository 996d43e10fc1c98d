// Messages in protobuf's encoding, field by field:
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::telemetry {

/// Writes one message; fields in the order of the calls. A number of 0 and an empty text are
/// written, too: whoever wants proto3's defaults leaves them out.
class ProtoWriter {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  /// sint32 and sint64.
  void signed_number(std::uint32_t field, std::int64_t value) {
    number(field,
           (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, kFixed64);
    little_endian(value, 8);
  }
  void fixed32(std::uint32_t field, std::uint32_t value) {
    tag(field, kFixed32);
    little_endian(value, 4);
  }
  void real(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  /// bytes, a string that is UTF-8, and a message that is complete.
  void bytes(std::uint32_t field, std::string_view value) {
    tag(field, kBytes);
    varint(value.size());
    text_ += value;
  }
  void message(std::uint32_t field, const ProtoWriter& value) { bytes(field, value.text_); }

  const std::string& text() const { return text_; }
  std::string take() { return std::exchange(text_, {}); }
  /// Before the next message of a stream: the size of this one.
  /// https://protobuf.dev/programming-guides/techniques/#streaming
  std::string take_delimited() {
    ProtoWriter size;
    size.varint(text_.size());
    return size.text_ + take();
  }

 private:
  enum Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void tag(std::uint32_t field, Wire wire) { varint(std::uint64_t{field} << 3 | wire); }
  void varint(std::uint64_t value) {
    constexpr std::uint64_t kMore = 0x80;
    for (; value >= kMore; value >>= 7) text_ += static_cast<char>(value | kMore);
    text_ += static_cast<char>(value);
  }
  void little_endian(std::uint64_t value, int num_bytes) {
    for (int i = 0; i < num_bytes; ++i, value >>= 8) text_ += static_cast<char>(value);
  }

  std::string text_;
};

}  // namespace sluice::telemetry
