// An archive that `tar` reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::tool {

/// Plain files in POSIX's ustar format (IEEE 1003.1, pax: "ustar Interchange Format").
class Tar {
 public:
  /// `mtime_s`: of all files, seconds since 1970.
  explicit Tar(std::int64_t mtime_s) : mtime_s_(mtime_s) {}

  /// Requires: a relative path of less than 100 bytes; less than 8 GiB of text.
  void add(std::string_view path, std::string_view text);
  /// The whole archive. Nothing may be added after it.
  std::string take();

 private:
  const std::int64_t mtime_s_;
  std::string bytes_;
};

}  // namespace sluice::tool
