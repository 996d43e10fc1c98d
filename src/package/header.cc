#include "package/header.h"

// Must come first: it renames the functions with wider vectors.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <cstddef>
#include <cstring>

#include "package/package.h"

namespace sluice::package {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Checksum::Checksum()
    : state_(XXH3_createState(),
             [](void* state) { XXH3_freeState(static_cast<XXH3_state_t*>(state)); }) {
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}

void Checksum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const {
  return XXH3_64bits_digest(static_cast<XXH3_state_t*>(state_.get()));
}

bool matches(std::span<const std::byte> bytes, std::uint64_t checksum) {
// A fuzzer would not get past a checksum.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  static_cast<void>(bytes);
  static_cast<void>(checksum);
  return true;
#else
  return checksum_of(bytes) == checksum;
#endif
}

Result<FileHeader> read_header(std::span<const std::byte> start, std::uint64_t file_bytes) {
  FileHeader header = {};
  // First, so that a file of another kind is not called a damaged package.
  if (start.size() >= kFileMagic.size() &&
      std::memcmp(start.data(), kFileMagic.data(), kFileMagic.size()) != 0) {
    return invalid_argument("this is not a .sluice file; make one with `sluice compile`");
  }
  if (start.size() < sizeof(header)) {
    return make_error(Code::kDataLoss, "section \"header\" is truncated: the file has {} bytes",
                      file_bytes);
  }
  std::memcpy(&header, start.data(), sizeof(header));
  if (!matches(start.first(offsetof(FileHeader, header_checksum)), header.header_checksum)) {
    // Before the version: a damaged number would send the user to another release.
    return make_error(Code::kDataLoss, "section \"header\" is damaged");
  }
  if (header.format_major != kFormatMajor) {
    return invalid_argument(
        "the file has format {}.{}, this version of Sluice reads {}.x; compile the model again",
        header.format_major, header.format_minor, kFormatMajor);
  }
  if (header.file_bytes != file_bytes) {
    return make_error(Code::kDataLoss, "the file is truncated: it has {} of {} bytes", file_bytes,
                      header.file_bytes);
  }
  return header;
}

Result<FileHeader> parse_header(const Bytes& file) {
  const FileHeader header = SLUICE_TRY(read_header(file.view(), file.size()));
  if (header.index_offset > file.size() || header.index_bytes > file.size() - header.index_offset ||
      header.index_offset % kDataAlignment != 0) {
    return make_error(Code::kDataLoss, "section \"index\" lies outside the file");
  }
  const auto index = file.view().subspan(header.index_offset, header.index_bytes);
  if (!matches(index, header.index_checksum)) {
    return make_error(Code::kDataLoss, "section \"index\" is damaged");
  }
  return header;
}

}  // namespace sluice::package
