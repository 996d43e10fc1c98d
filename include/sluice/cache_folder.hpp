// The folder of what was compiled before: packages of models, and kernels of plug-ins.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {

/// Files by name that can be made again, shared with other programs and the Python package. Files
/// may vanish at any time: other processes call `trim`. Writers rename whole files into it.
/// Immutable; safe from several threads. Errors of the file system make it hold less, no more.
class CacheFolder {
 public:
  /// The endings that `trim` counts and removes; other files are not its own.
  static constexpr std::array<std::string_view, 2> kEndings = {".sluice", ".kernel"};

  /// In $SLUICE_CACHE_DIR, else $XDG_CACHE_HOME/sluice, else ~/.cache/sluice. Nullopt if the
  /// variable is set and empty, or if no folder is known or can be made. The limit is
  /// $SLUICE_CACHE_MIB, else 4096 MiB; `warning` gets a line if that is no number. `own` names a
  /// variable that, where it is set, counts in the place of $SLUICE_CACHE_DIR.
  static std::optional<CacheFolder> open(std::string* warning = nullptr,
                                         const char* own = "SLUICE_CACHE_DIR") {
    const std::filesystem::path folder = usual_folder(own);
    if (folder.empty()) return std::nullopt;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return std::nullopt;
    return CacheFolder(folder, usual_limit_mib(warning) << 20U);
  }

  /// `name` ends in one of kEndings.
  std::filesystem::path place_of(const std::string& name) const { return folder_ / name; }

  /// Makes a file the most recently used one.
  static void mark_used(const std::filesystem::path& place) {
    std::error_code error;
    std::filesystem::last_write_time(place, std::filesystem::file_time_type::clock::now(), error);
  }

  /// Removes the least recently used files, until the rest takes at most the limit. The newest
  /// file stays, however large: its writer names it to a user.
  void trim() const {
    std::vector<File> files = list();
    std::ranges::sort(files, std::greater<>(), &File::used);
    std::uint64_t total_bytes = 0;
    for (const File& file : files) {
      total_bytes += file.size_bytes;
      std::error_code error;
      const bool is_newest = &file == &files.front();
      if (total_bytes > limit_bytes_ && !is_newest) std::filesystem::remove(file.path, error);
    }
  }

 private:
  static constexpr std::uint64_t kDefaultMib = 4096;

  struct File {
    std::filesystem::path path;
    std::uint64_t size_bytes = 0;
    std::filesystem::file_time_type used;
  };

  CacheFolder(std::filesystem::path folder, std::uint64_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  static const char* environment(const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  }

  static std::filesystem::path usual_folder(const char* own) {
    if (const char* named = environment(own); named != nullptr) return named;
    if (const char* named = environment("SLUICE_CACHE_DIR"); named != nullptr) return named;
    if (const char* base = environment("XDG_CACHE_HOME"); base != nullptr && *base != '\0') {
      return std::filesystem::path(base) / "sluice";
    }
    const char* home = environment("HOME");
    if (home == nullptr || *home == '\0') return {};
    return std::filesystem::path(home) / ".cache/sluice";
  }

  static std::uint64_t usual_limit_mib(std::string* warning) {
    const char* text = environment("SLUICE_CACHE_MIB");
    if (text == nullptr) return kDefaultMib;
    const std::string_view digits = text;
    std::uint64_t mib = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, mib);
    if (error == std::errc() && stop == end && mib <= (std::uint64_t{1} << 40U)) return mib;
    if (warning != nullptr) {
      *warning = "SLUICE_CACHE_MIB=" + std::string(digits) +
                 ": not a number of MiB; the limit is " + std::to_string(kDefaultMib);
    }
    return kDefaultMib;
  }

  std::vector<File> list() const {
    std::vector<File> files;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder_, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::string ending = entry->path().extension().string();
      if (std::ranges::find(kEndings, ending) == kEndings.end()) continue;
      std::error_code gone;  // another process may remove it meanwhile
      const File file = {entry->path(), entry->file_size(gone), entry->last_write_time(gone)};
      if (!gone) files.push_back(file);
    }
    return files;
  }

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_ = 0;
};

}  // namespace sluice
