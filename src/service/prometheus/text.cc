#include "service/prometheus/text.h"

#include <fmt/format.h>

#include "runtime/statistics/histogram.h"

namespace sluice::service {
namespace {

using runtime::HistogramBuckets;
using runtime::HistogramSnapshot;

constexpr int kLeastBits = 10;  // 1.023 us
constexpr int kMaxBits = 36;    // 68.7 s

/// Backslash, quote and line end are escaped; other control characters help nobody.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: out += static_cast<unsigned char>(c) < ' ' || c == 0x7F ? '?' : c;
    }
  }
  return out;
}

/// Without rounding: nine digits behind the point, those at the end that are 0 left out.
std::string seconds_text(std::int64_t value_ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  std::string text = fmt::format("{}.{:09}", value_ns / kNsPerSecond, value_ns % kNsPerSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void PrometheusText::begin(std::string_view name, std::string_view type, std::string_view help) {
  begin_alias(fmt::format("sluice_{}", name), type, help);
}

void PrometheusText::begin_alias(std::string_view name, std::string_view type,
                                 std::string_view help) {
  family_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family_, help, family_, type);
}

void PrometheusText::sample(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_ += family_;
  text_ += suffix;
  char mark = '{';
  for (const auto& [name, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", mark, name, escaped(text));
    mark = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

void PrometheusText::add(const Labels& labels, std::int64_t value) {
  sample("", labels, std::to_string(value));
}

void PrometheusText::add_seconds(const Labels& labels, std::int64_t value_ns) {
  sample("", labels, seconds_text(value_ns));
}

void PrometheusText::add(const Labels& labels, const HistogramSnapshot& histogram) {
  Labels with_bound = labels;
  with_bound.emplace_back("le", "");
  std::int64_t below = 0;
  std::size_t next = 0;
  for (int bits = kLeastBits; bits <= kMaxBits; ++bits) {
    const std::int64_t end_ns = std::int64_t{1} << bits;
    for (; next < histogram.counts().size() && HistogramBuckets::lower_bound_ns(next) < end_ns;
         ++next) {
      below += histogram.counts()[next];
    }
    with_bound.back().second = seconds_text(end_ns - 1);
    sample("_bucket", with_bound, std::to_string(below));
  }
  with_bound.back().second = "+Inf";
  sample("_bucket", with_bound, std::to_string(histogram.count()));
  sample("_sum", labels, seconds_text(histogram.sum_ns()));
  sample("_count", labels, std::to_string(histogram.count()));
}

}  // namespace sluice::service
