// The preface of HTTP/2, and the types and flags of its frames (RFC 9113, sections 6.1 to 6.10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::http2 {

/// What a client sends first (section 3.4).
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
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

}  // namespace sluice::http2
