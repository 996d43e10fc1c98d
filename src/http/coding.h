// Content codings of bodies: gzip (RFC 1952) and deflate (RFC 1950, in zlib's frame), as RFC 9110,
// section 8.4, has them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/body.h"

namespace sluice::http {

enum class Coding : std::uint8_t { kIdentity, kGzip, kDeflate };

/// As heads name it. Requires: not kIdentity.
std::string_view coding_name(Coding coding);

/// The coding that a Content-Encoding names; nullopt if the daemon does not take it, or if there
/// are several.
std::optional<Coding> find_coding(std::string_view content_encoding);

/// The coding that an Accept-Encoding prefers; kIdentity where it names neither gzip nor deflate.
Coding choose_coding(std::string_view accept_encoding);

/// Appends what `coded` says to `to`, whose limit bounds it: memory grows with what comes out, not
/// with what the bytes promise. Requires: not kIdentity.
/// Fails: kDataLoss if the bytes are not of this coding, or end too early; as Body::reserve.
Status decode(std::string_view coded, Coding coding, Body& to);

/// The parts behind each other, coded; quick rather than small. Requires: not kIdentity.
/// Fails: kResourceExhausted without memory.
Result<std::string> encode(std::span<const std::string_view> parts, Coding coding);

}  // namespace sluice::http
