// SHA-256, as FIPS 180-4 defines it: a digest that names bytes. For a file now and then: the
// library links no OpenSSL. The daemon, which does, computes digests of requests with it
// (service/replies), by instructions of the processor.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The digest of `bytes` as 64 hexadecimal digits in small letters, as `sha256sum` prints it.
std::string sha256_of(std::span<const std::byte> bytes);

/// Whether `text` has the form of such a digest.
bool is_sha256(std::string_view text);

}  // namespace sluice
