// Files that a path may name without a link leading elsewhere: beneath a folder, and where a
// resolved path says.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "base/result.h"

namespace sluice {

/// An open folder: it stays the same folder, whatever happens to its name. Copies share it. Safe
/// from any thread.
class Folder {
 public:
  static Result<Folder> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// Maps the file at a path that somebody else wrote down: the file lies in this folder or below,
  /// and no link on the way leads out, not even one that changes meanwhile (openat2 with
  /// RESOLVE_BENEATH; kernels without it follow the links first and compare the result).
  /// Fails: as map_file; kInvalidArgument for a path that leads out.
  Result<Bytes> map(const std::filesystem::path& relative) const;

  /// As `map` for a path here whose links lead to a file in `target` or below.
  Result<Bytes> map_link(const std::filesystem::path& relative, const Folder& target) const;

  /// Whether `name` here, links followed, is the file that `other` has by the name of `real`.
  bool has_same(const std::filesystem::path& name, const Folder& other,
                const std::filesystem::path& real) const;

 private:
  Folder(std::filesystem::path path, std::shared_ptr<const FileDescriptor> descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  std::filesystem::path path_;
  std::shared_ptr<const FileDescriptor> descriptor_;
};

/// Opens a path that was resolved before (std::filesystem::canonical) and looked at, to read it. A
/// link that stands anywhere on the way now was put there since, and is refused, so that what is
/// opened lies where it was looked for: openat2 with RESOLVE_NO_SYMLINKS; kernels without it open
/// folder after folder. Safe from any thread.
/// Requires: `path` is absolute and has no "." and "..".
/// Fails: kInvalidArgument  there is a link, or `path` is none that is resolved
///        as opening a file
Result<FileDescriptor> open_real(const std::filesystem::path& path);

/// As map_file and read_text_file for such a path.
Result<Bytes> map_real(const std::filesystem::path& path);
Result<std::string> read_real_text(const std::filesystem::path& path, std::int64_t limit_bytes);

/// What open_real does on a kernel without openat2.
Result<FileDescriptor> open_real_by_steps(const std::filesystem::path& path);

}  // namespace sluice
