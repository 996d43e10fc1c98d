#include "repository/config/labels.h"

#include <algorithm>

#include "base/utf8.h"

namespace sluice::repository {
namespace {

constexpr std::size_t kMaxLabels = 1 << 18;
/// An answer may have 65,536 labels.
constexpr std::size_t kMaxLineBytes = 256;

}  // namespace

Result<std::vector<std::string>> parse_labels(std::string_view text) {
  std::vector<std::string> labels;
  text = without_mark(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (labels.size() == kMaxLabels) return invalid_argument("more than {} labels", kMaxLabels);
    if (line.size() > kMaxLineBytes || valid_utf8(line) != line) {
      return invalid_argument("line {}: a label is UTF-8 of at most {} bytes", labels.size() + 1,
                              kMaxLineBytes);
    }
    labels.emplace_back(line);
  }
  return labels;
}

}  // namespace sluice::repository
