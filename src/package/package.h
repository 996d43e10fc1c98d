// Reads and writes `.sluice` files. The format is described byte by byte in
// docs/formats/package.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::package {

inline constexpr std::string_view kFileMagic = "SLUICE\r\n";
inline constexpr std::uint32_t kFormatMajor = 1;
inline constexpr std::uint32_t kFormatMinor = 2;
/// The names of sections that are files start so: "file/tokenizer.json".
inline constexpr std::string_view kFileSection = "file/";
inline constexpr std::size_t kMaxFiles = 64;
inline constexpr std::size_t kMaxFileName = 255;
inline constexpr std::int64_t kPageBytes = 4096;
inline constexpr std::int64_t kDataAlignment = 64;

/// Writes beside `path` and renames; constants are streamed, not gathered in memory.
Status write_package(const Executable& executable, const std::filesystem::path& path);

/// Maps the file. Index and graph are checked whole; constants and packed constants are checked for
/// lying inside the file, and by `Executable::verify` before use.
/// Fails: kNotFound; kInvalidArgument for a file that is no package or of a newer format;
///        kDataLoss for a truncated or altered one, naming the section.
Result<Executable> read_package(const std::filesystem::path& path);

/// As above from bytes, aligned to kDataAlignment, whose lifetime the result shares.
Result<Executable> parse_package(const Bytes& file);

/// A section of a file, for people who inspect it.
struct SectionInfo {
  std::string name;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
};

/// The sections in file order, header and index included.
Result<std::vector<SectionInfo>> list_sections(const Bytes& file);

}  // namespace sluice::package
