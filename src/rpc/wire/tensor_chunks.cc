#include "rpc/wire/tensor_chunks.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <limits>

#include "proto/sluice/v1/exchange.pb.h"
#include "rpc/wire/convert.h"

namespace sluice::rpc::wire {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

/// The field `chunk` before its length: its number, and 2 for a field with a length.
constexpr std::uint32_t kChunkTag = (v1::FetchTensorResponse::kChunkFieldNumber << 3U) | 2U;

/// Limit of a head, which has at most 64 dimensions.
constexpr int kMaxHeadBytes = 4096;

Status no_message() { return invalid_argument("a message of the tensor has another form"); }

}  // namespace

grpc::ByteBuffer write_tensor_head(const TensorHead& from) {
  v1::FetchTensorResponse head;
  head.mutable_tensor()->set_element_type(static_cast<std::int32_t>(from.view.element));
  for (const std::int64_t dim : from.view.dims) head.mutable_tensor()->add_shape(dim);
  head.set_bytes(from.view.size_bytes);
  head.set_offset(from.offset_bytes);
  const grpc::Slice slice(head.SerializeAsString());
  return {&slice, 1};
}

Result<TensorHead> read_tensor_head(grpc::ByteBuffer& message) {
  if (message.Length() > static_cast<std::size_t>(kMaxHeadBytes)) return no_message();
  grpc::ProtoBufferReader bytes(&message);
  v1::FetchTensorResponse head;
  if (!bytes.status().ok() || !head.ParseFromZeroCopyStream(&bytes)) return no_message();
  const bool is_within = head.offset() >= 0 && head.offset() <= head.bytes();
  if (!is_within || !head.chunk().empty() || !head.tensor().data().empty()) return no_message();
  // Bytes that are elsewhere are what a place says; it checks them against type and shape.
  head.mutable_tensor()->set_exchange(0);
  head.mutable_tensor()->mutable_place()->set_bytes(static_cast<std::uint64_t>(head.bytes()));
  return TensorHead{SLUICE_TRY(view_of(head.tensor())), head.offset()};
}

// As protobuf would write the message, but the bytes are a slice of the tensor, not a copy:
//
//   tag of `chunk` | length, a varint | bytes of the tensor (kept by a lease)
grpc::ByteBuffer write_tensor_chunk(const std::shared_ptr<const terms::OutputTensor>& tensor,
                                    std::size_t offset, std::size_t size_bytes) {
  using Lease = std::shared_ptr<const terms::OutputTensor>;
  std::array<std::uint8_t, 10> front = {};
  std::uint8_t* end = CodedOutputStream::WriteTagToArray(kChunkTag, front.data());
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(size_bytes), end);
  auto* const from = static_cast<std::byte*>(tensor->view.data) + offset;
  const std::array slices = {
      grpc::Slice(front.data(), static_cast<std::size_t>(end - front.data())),
      grpc::Slice(
          from, size_bytes, [](void* lease) { delete static_cast<Lease*>(lease); },
          new Lease(tensor))};
  return {slices.data(), slices.size()};
}

Result<std::size_t> read_tensor_chunk(grpc::ByteBuffer& message, std::span<std::byte> to) {
  grpc::ProtoBufferReader bytes(&message);
  if (!bytes.status().ok()) return no_message();
  CodedInputStream in(&bytes);
  std::uint32_t size = 0;
  if (in.ReadTag() != kChunkTag || !in.ReadVarint32(&size)) return no_message();
  if (size == 0 || size > to.size() ||
      size > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
    return no_message();
  }
  if (!in.ReadRaw(to.data(), static_cast<int>(size))) return no_message();
  if (in.ReadTag() != 0 || !in.ConsumedEntireMessage()) return no_message();
  return size;
}

}  // namespace sluice::rpc::wire
