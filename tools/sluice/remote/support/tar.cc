#include "sluice/remote/support/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace sluice::tool {
namespace {

constexpr std::size_t kBlockBytes = 512;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;

using Header = std::array<char, kBlockBytes>;

void put(Header& header, std::size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

void Tar::add(std::string_view path, std::string_view text) {
  Header header = {};
  put(header, 0, path);
  put(header, 100, "0000644");  // mode, owner, group
  put(header, 108, "0000000");
  put(header, 116, "0000000");
  put(header, 124, fmt::format("{:011o}", text.size()));
  put(header, 136, fmt::format("{:011o}", mtime_s_));
  header[156] = '0';  // a file
  put(header, 257, "ustar");
  put(header, 263, "00");
  // The sum counts its own field as spaces.
  put(header, kChecksumAt, std::string(kChecksumBytes, ' '));
  std::uint32_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put(header, kChecksumAt, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  bytes_.append(header.data(), header.size());
  bytes_ += text;
  bytes_.append((kBlockBytes - text.size() % kBlockBytes) % kBlockBytes, '\0');
}

std::string Tar::take() {
  bytes_.append(2 * kBlockBytes, '\0');
  return std::move(bytes_);
}

}  // namespace sluice::tool
