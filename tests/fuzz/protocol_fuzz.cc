// Bytes as messages of a client: whatever they say of tensors and groups, reading them ends in
// views inside the message or in an error.
#include <cstdint>
#include <span>

#include "rpc/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::rpc::read_as_messages(std::span(data, size));
  return 0;
}
