// Reads any bytes as a message of a tensor from another daemon. The first byte says how much room
// there is, or that the message is a head.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "rpc/wire/tensor_chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::rpc::wire;
  if (size == 0) return 0;
  const grpc::Slice slice(data + 1, size - 1);
  grpc::ByteBuffer message(&slice, 1);
  if (data[0] == 0) {
    const auto head = read_tensor_head(message);
    if (!head.is_ok()) return 0;
    if (head->offset_bytes < 0 || head->offset_bytes > head->view.size_bytes) std::abort();
    return 0;
  }
  std::vector<std::byte> room(data[0]);  // a sanitizer sees a byte beyond it
  const auto taken = read_tensor_chunk(message, room);
  if (taken.is_ok() && (*taken == 0 || *taken > room.size())) std::abort();
  return 0;
}
