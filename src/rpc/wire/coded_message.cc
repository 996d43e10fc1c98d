#include "rpc/wire/coded_message.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>
#include <zlib.h>

#include <atomic>
#include <string>
#include <utility>

namespace sluice::rpc::wire {
namespace {

using google::protobuf::Message;
using google::protobuf::UnknownField;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::GzipInputStream;
using google::protobuf::io::LimitingInputStream;

/// Holds the coded bytes of a message that was not inflated yet: first a byte that says how. A
/// client that sends such a field itself gets what it would get for a compressed message.
constexpr int kCodedField = (1 << 29) - 1;
constexpr char kGzip = 1;
constexpr char kZlib = 2;

std::atomic<std::int64_t> max_inflated = 0;

}  // namespace

void set_max_inflated_bytes(std::int64_t bytes) { max_inflated = bytes; }
std::int64_t max_inflated_bytes() { return max_inflated; }

grpc::Status read_message(std::string_view bytes, Coding coding, Message& message) {
  if (coding == Coding::kNone) {
    const bool is_read = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    if (is_read) return {};
    return {grpc::StatusCode::INVALID_ARGUMENT, "the request is no message of this call"};
  }
  message.Clear();
  std::string& coded =
      *message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(kCodedField);
  coded.reserve(1 + bytes.size());
  coded += coding == Coding::kGzip ? kGzip : kZlib;
  coded += bytes;
  return {};
}

bool is_coded(const Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  return unknown.field_count() == 1 && unknown.field(0).number() == kCodedField &&
         unknown.field(0).type() == UnknownField::TYPE_LENGTH_DELIMITED &&
         !unknown.field(0).length_delimited().empty();
}

/// Bytes that were cut off cannot be told: the message is then the part that came.
Status inflate(const Message& read, std::int64_t limit_bytes) {
  if (!is_coded(read)) return ok_status();
  auto& message = const_cast<Message&>(read);  // it is lent to one call
  auto* unknown = message.GetReflection()->MutableUnknownFields(&message);
  const std::string coded = std::move(*unknown->mutable_field(0)->mutable_length_delimited());
  ArrayInputStream bytes(coded.data() + 1, static_cast<int>(coded.size() - 1));
  GzipInputStream inflated(&bytes,
                           coded.front() == kGzip ? GzipInputStream::GZIP : GzipInputStream::ZLIB);
  LimitingInputStream bounded(&inflated, limit_bytes + 1);
  const bool is_parsed = message.ParseFromZeroCopyStream(&bounded);
  if (bounded.ByteCount() > limit_bytes) {
    message.Clear();
    return make_error(Code::kResourceExhausted,
                      "the request has more than {} bytes when it is inflated{}", limit_bytes,
                      limit_bytes == max_inflated ? "; raise max_message_bytes" : "");
  }
  const int error = inflated.ZlibErrorCode();
  const bool is_whole = error == Z_OK || error == Z_STREAM_END || error == Z_BUF_ERROR;
  if (is_parsed && is_whole) return ok_status();
  return invalid_argument("the request is no message of this call");
}

}  // namespace sluice::rpc::wire
