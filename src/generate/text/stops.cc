#include "generate/text/stops.h"

#include <algorithm>
#include <utility>

namespace sluice::generate {
namespace {

/// Bytes at the end of `text` that `stop` begins with.
std::size_t overlap(std::string_view text, std::string_view stop) {
  for (std::size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

Stops::Stops(std::vector<std::string> stops) : stops_(std::move(stops)) { std::erase(stops_, ""); }

std::string Stops::push(std::string_view piece) {
  if (is_found_) return "";
  held_ += piece;
  std::size_t end = std::string::npos;
  std::size_t kept = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, held_.find(stop));
    kept = std::max(kept, overlap(held_, stop));
  }
  is_found_ = end != std::string::npos;
  const std::string shown = held_.substr(0, is_found_ ? end : held_.size() - kept);
  held_ = is_found_ ? "" : held_.substr(held_.size() - kept);
  return shown;
}

std::string Stops::flush() { return std::exchange(held_, ""); }

}  // namespace sluice::generate
