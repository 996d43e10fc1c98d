// Reads any bytes as what a program that stays writes, in pieces of the size that the first says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "sandbox/programs/reply_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  sluice::sandbox::ReplyBytes reply(/*has_length=*/true);
  while (!rest.empty() && !reply.is_complete()) {
    const auto next = rest.first(std::min(piece, rest.size()));
    rest = rest.subspan(next.size());
    if (!reply.take(next).is_ok()) return 0;
    // It holds no byte that did not come.
    if (reply.bytes().size() > size) std::abort();
  }
  return 0;
}
