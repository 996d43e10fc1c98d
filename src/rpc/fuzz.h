// For the fuzz target of the protocol, which may not know the generated code.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::rpc {

/// Parses the bytes as each message that a client sends, and reads all that is in it.
void read_as_messages(std::span<const std::uint8_t> bytes);

}  // namespace sluice::rpc
