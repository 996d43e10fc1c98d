// Names of contents: of kernels by their text, of images and files by their bytes.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sluice::cuda {

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv). It finds damage by accident, and
/// none that somebody intends.
inline std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

/// The hash as 16 hexadecimal digits.
inline std::string key_of(std::string_view bytes) {
  std::array<char, 17> digits = {};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(hash_of(bytes)));
  return digits.data();
}

}  // namespace sluice::cuda
