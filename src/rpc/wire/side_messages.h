// What passes over the side socket, where clients hand memfds to the daemon: one request with a
// descriptor, one answer. All numbers little-endian; docs/protocol.md has the tables.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::rpc::wire {

inline constexpr std::uint32_t kSideMagic = 0x44494C53;  // "SLID"
inline constexpr std::uint16_t kSideVersion = 1;

enum class SideKind : std::uint16_t { kMemory = 1, kRing = 2 };

struct SideRequest {
  std::uint32_t magic = kSideMagic;
  std::uint16_t version = kSideVersion;
  std::uint16_t kind = 0;
  std::uint64_t size_bytes = 0;
  std::array<char, 48> token = {};  ///< of the session, zeros behind it
};
static_assert(sizeof(SideRequest) == 64);

struct SideAnswer {
  std::uint32_t magic = kSideMagic;
  std::uint16_t version = kSideVersion;
  std::uint16_t message_bytes = 0;
  std::int32_t status_code = 0;   ///< gRPC's
  std::int32_t runtime_code = 0;  ///< docs/runtime.md, "Codes"
  std::uint64_t region = 0;
  std::array<char, 488> message = {};  ///< UTF-8, why it failed
};
static_assert(sizeof(SideAnswer) == 512);

}  // namespace sluice::rpc::wire
