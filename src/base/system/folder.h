// A folder whose files a model may name.
#pragma once

#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace sluice {

class FileDescriptor;

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

}  // namespace sluice
