#include "topology/sensors/sysfs.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "base/text/number.h"

namespace sluice::topology {

namespace fs = std::filesystem;

std::optional<std::string> read_line(const fs::path& file) {
  std::ifstream from(file);
  std::array<char, 4096> buffer = {};
  from.read(buffer.data(), buffer.size());
  if (from.bad() || from.gcount() == 0) return std::nullopt;
  const std::string text(buffer.data(), static_cast<std::size_t>(from.gcount()));
  return text.substr(0, text.find('\n'));
}

std::optional<std::int64_t> read_number(const fs::path& file) {
  const auto line = read_line(file);
  return line ? to_number<std::int64_t>(*line) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace sluice::topology
