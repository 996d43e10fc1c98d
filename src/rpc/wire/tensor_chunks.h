// A tensor on its way between two daemons: FetchTensorResponse messages that are written and read
// without a copy of their own.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <span>

#include "base/result.h"
#include "terms/tensors/tensor.h"

namespace sluice::rpc::wire {

/// Limit of one message; a tensor takes as many as it needs.
inline constexpr std::size_t kTensorChunkBytes = std::size_t{1} << 20;

struct TensorHead {
  terms::TensorView view;         ///< type, shape and size, without data
  std::int64_t offset_bytes = 0;  ///< where the chunks begin: 0 to the size
};

/// The message that begins it.
grpc::ByteBuffer write_tensor_head(const TensorHead& head);
/// Fails: kInvalidArgument for no such message, a size that type and shape contradict, or an offset
/// beyond the size.
Result<TensorHead> read_tensor_head(grpc::ByteBuffer& message);

/// A message with these bytes of the tensor, where they lie: it holds the tensor for as long as
/// gRPC holds the message.
grpc::ByteBuffer write_tensor_chunk(const std::shared_ptr<const terms::OutputTensor>& tensor,
                                    std::size_t offset, std::size_t size_bytes);
/// Copies the message's bytes to the front of `to`; how many there are.
/// Fails: kInvalidArgument for no such message, an empty one, or one larger than `to`.
Result<std::size_t> read_tensor_chunk(grpc::ByteBuffer& message, std::span<std::byte> to);

}  // namespace sluice::rpc::wire
