// The head of a fat binary, as nvcc puts them into programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::cuda {

inline constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;

/// Learned from what nvcc writes.
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // behind the header
};
inline constexpr std::size_t kFatbinHeaderBytes = sizeof(FatbinHeader);
static_assert(kFatbinHeaderBytes == 16);

/// Bytes that a fat binary says it has, header included; 0 if `header` begins none.
/// Requires: `header` has kFatbinHeaderBytes.
inline std::size_t fatbin_bytes(const void* header) {
  FatbinHeader read;
  std::memcpy(&read, header, sizeof(read));
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
  const bool is_one = read.magic == kFatbinMagic && read.header_bytes == sizeof(read);
  return is_one && read.bytes < kMaxBytes ? sizeof(read) + read.bytes : 0;
}

}  // namespace sluice::cuda
