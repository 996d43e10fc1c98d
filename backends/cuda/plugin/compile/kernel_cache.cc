#include "plugin/compile/kernel_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "driver/content_key.h"

namespace sluice::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "sluice kernel 1\n";
constexpr std::size_t kChecksumBytes = 8;
// Code of a kernel takes some 10 to 200 KiB, its text less.
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{64} << 20U;
// A trim lists the folder, which may hold 100 000 kernels.
constexpr std::uint32_t kKernelsPerTrim = 64;

std::string checksum_bytes(std::string_view code) {
  std::string bytes;
  std::uint64_t rest = hash_of(code);
  for (std::size_t i = 0; i < kChecksumBytes; ++i, rest >>= 8U) {
    bytes += static_cast<char>(rest & 0xFFU);
  }
  return bytes;
}

/// Nullopt if there is none, or if it cannot be read. A file that is too large gives its beginning,
/// which is damaged.
std::optional<std::string> read_file(const fs::path& place) {
  std::error_code error;
  const std::uintmax_t size_bytes = fs::file_size(place, error);
  if (error) return std::nullopt;
  std::ifstream file(place, std::ios::binary);
  std::string contents(static_cast<std::size_t>(std::min(size_bytes, kMaxFileBytes)), '\0');
  if (!file.read(contents.data(), static_cast<std::streamsize>(contents.size()))) {
    return std::nullopt;
  }
  return contents;
}

}  // namespace

std::string wrap_kernel(std::string_view inputs, std::string_view code) {
  std::string file(kFormat);
  file += inputs;
  file += checksum_bytes(code);
  file += code;
  return file;
}

std::optional<std::string_view> unwrap_kernel(std::string_view file, std::string_view inputs) {
  for (const std::string_view part : {kFormat, inputs}) {
    if (!file.starts_with(part)) return std::nullopt;
    file.remove_prefix(part.size());
  }
  if (file.size() <= kChecksumBytes) return std::nullopt;
  const std::string_view code = file.substr(kChecksumBytes);
  if (file.substr(0, kChecksumBytes) != checksum_bytes(code)) return std::nullopt;
  return code;
}

std::optional<std::string> KernelCache::find(std::string_view inputs) const {
  if (!folder_) return std::nullopt;
  const fs::path place = folder_->place_of(key_of(inputs) + ".kernel");
  const std::optional<std::string> file = read_file(place);
  if (!file) return std::nullopt;
  if (const auto code = unwrap_kernel(*file, inputs)) {
    CacheFolder::mark_used(place);
    return std::string(*code);
  }
  std::error_code error;
  fs::remove(place, error);
  return std::nullopt;
}

void KernelCache::keep(std::string_view inputs, std::string_view code) {
  if (!folder_) return;
  // The name until it is whole ends as the last one does: what a killed process leaves is trimmed.
  const std::string name = key_of(inputs);
  const fs::path draft = folder_->place_of(name + "-" + std::to_string(getpid()) + "-" +
                                           std::to_string(num_kept_) + ".kernel");
  std::error_code error;
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << wrap_kernel(inputs, code);
    file.close();
    if (!file) {
      fs::remove(draft, error);
      return;
    }
  }
  fs::rename(draft, folder_->place_of(name + ".kernel"), error);
  if (num_kept_++ % kKernelsPerTrim == 0) folder_->trim();
}

}  // namespace sluice::cuda
