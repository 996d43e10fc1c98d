#include "perf/sweep.h"

#include <charconv>
#include <system_error>

namespace sluice::perf {
namespace {

Status bad(std::string_view text) {
  return invalid_argument(
      "\"{}\": write values above 0, such as 8, 1,8,64, or 1:16:5 for 1, 6, 11, 16; at most {}",
      text.substr(0, 100), kMaxLoads);
}

/// Values between separators. Fails: as parse_sweep.
Result<std::vector<double>> parse_values(std::string_view text, char separator) {
  std::vector<double> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    double value = 0;
    const auto [stop, error] = std::from_chars(at, end, value, std::chars_format::fixed);
    if (error != std::errc() || !(value > 0) || value > 1e9) return bad(text);
    values.push_back(value);
    if (stop == end) return values;
    if (*stop != separator || values.size() == kMaxLoads) return bad(text);
    at = stop + 1;
  }
}

}  // namespace

Result<std::vector<double>> parse_sweep(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return parse_values(text, ',');
  const auto range = SLUICE_TRY(parse_values(text, ':'));
  const double step = range.size() == 3 ? range[2] : 1;
  if (range.size() < 2 || range.size() > 3 || range[0] > range[1]) return bad(text);
  if ((range[1] - range[0]) / step >= static_cast<double>(kMaxLoads)) return bad(text);
  std::vector<double> values;
  for (double value = range[0]; value <= range[1]; value += step) values.push_back(value);
  return values;
}

}  // namespace sluice::perf
