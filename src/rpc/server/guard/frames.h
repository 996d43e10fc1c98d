// Types and flags of HTTP/2's frames (RFC 9113, sections 6.1 to 6.10).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::rpc::server {

inline constexpr std::size_t kFrameHeadBytes = 9;

inline constexpr std::uint8_t kData = 0;
inline constexpr std::uint8_t kHeaders = 1;
inline constexpr std::uint8_t kResetStream = 3;
inline constexpr std::uint8_t kSettings = 4;
inline constexpr std::uint8_t kPushPromise = 5;
inline constexpr std::uint8_t kGoAway = 7;
inline constexpr std::uint8_t kWindowUpdate = 8;
inline constexpr std::uint8_t kContinuation = 9;

inline constexpr std::uint8_t kEndStream = 1;  ///< of DATA and HEADERS
inline constexpr std::uint8_t kAck = 1;        ///< of SETTINGS
inline constexpr std::uint8_t kEndHeaders = 4;
inline constexpr std::uint8_t kPadded = 8;

}  // namespace sluice::rpc::server
