#include "repository/config/traffic_text.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/text/number.h"
#include "base/utf8.h"

namespace sluice::repository {
namespace {

constexpr std::string_view kLabels = "version_labels";
constexpr std::string_view kWeights = "version_weights";
constexpr std::string_view kShadow = "shadow_version";
constexpr std::size_t kMaxEntries = 64;
constexpr std::int64_t kMostVersion = std::numeric_limits<std::int64_t>::max();

Result<std::int64_t> number_of(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto number = to_number<std::int64_t>(text);
  if (number && *number >= least && *number <= most) return *number;
  return invalid_argument("\"{}\" is no whole number from {} to {}", shown(text), least, most);
}

using Entry = std::pair<std::string_view, std::string_view>;

/// "a=1, b=2". None of the left sides comes twice.
Result<std::vector<Entry>> entries_of(std::string_view text) {
  std::vector<Entry> entries;
  while (!trimmed(text).empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || trimmed(entry.substr(0, equals)).empty()) {
      return invalid_argument("\"{}\" is not of the form NAME=NUMBER", shown(entry));
    }
    entries.emplace_back(trimmed(entry.substr(0, equals)), trimmed(entry.substr(equals + 1)));
    const auto first = std::ranges::find(entries, entries.back().first, &Entry::first);
    if (first != entries.end() - 1) {
      return invalid_argument("\"{}\" comes twice", shown(entries.back().first));
    }
    if (entries.size() > kMaxEntries) return invalid_argument("more than {} entries", kMaxEntries);
  }
  return entries;
}

/// A version's number is not a label: it would hide the version.
Status read_labels(std::string_view text, dispatch::Traffic& to) {
  to.labels.clear();
  for (const auto& [label, version] : SLUICE_TRY(entries_of(text))) {
    SLUICE_TRY(check_name(label, "label"));
    const char first = label.front();
    if ((first >= '0' && first <= '9') || first == '-' || label.find('/') != label.npos) {
      return invalid_argument("label \"{}\": a label starts with a letter and has no slash",
                              shown(label));
    }
    to.labels.emplace(label, SLUICE_TRY(number_of(version, 1, kMostVersion)));
  }
  return ok_status();
}

Status read_shares(std::string_view text, dispatch::Traffic& to) {
  to.shares.clear();
  for (const auto& [version, weight] : SLUICE_TRY(entries_of(text))) {
    const auto number = SLUICE_TRY(number_of(version, 1, kMostVersion));
    to.shares.push_back({number, SLUICE_TRY(number_of(weight, 0, dispatch::Traffic::kMaxShare))});
  }
  return ok_status();
}

}  // namespace

bool is_traffic(std::string_view setting) {
  return setting == kLabels || setting == kWeights || setting == kShadow;
}

Status read_traffic(std::string_view setting, std::string_view value, dispatch::Traffic& to) {
  if (setting == kLabels) return read_labels(value, to);
  if (setting == kWeights) return read_shares(value, to);
  to.shadow = SLUICE_TRY(number_of(trimmed(value), 1, kMostVersion));
  return ok_status();
}

}  // namespace sluice::repository
