// The first 64 bytes of a `.sluice` file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice::package {

/// As it lies in the file, little-endian.
struct FileHeader {
  char magic[8];
  std::uint32_t format_major;
  std::uint32_t format_minor;
  std::uint64_t file_bytes;  ///< whole file: finds truncation
  std::uint64_t index_offset;
  std::uint64_t index_bytes;
  std::uint64_t index_checksum;   ///< XXH3-64 of the index
  std::uint64_t reserved;         ///< 0
  std::uint64_t header_checksum;  ///< XXH3-64 of the 56 bytes before
};
static_assert(sizeof(FileHeader) == 64 && std::is_trivially_copyable_v<FileHeader>);

std::uint64_t checksum_of(std::span<const std::byte> bytes);

/// The checksum of bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  std::shared_ptr<void> state_;
};

/// Whether the bytes have this checksum. Always true in a fuzzing build: a fuzzer cannot guess
/// checksums, and the parser must be safe without them.
bool matches(std::span<const std::byte> bytes, std::uint64_t checksum);

/// What the header says, once it fits itself and the file, which has `file_bytes` and begins with
/// `start`. Fails: as read_package.
Result<FileHeader> read_header(std::span<const std::byte> start, std::uint64_t file_bytes);

/// As read_header, and checks the index.
Result<FileHeader> parse_header(const Bytes& file);

}  // namespace sluice::package
