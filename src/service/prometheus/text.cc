#include "service/prometheus/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "service/prometheus/native_histogram.h"

namespace sluice::service {
namespace {

using runtime::HistogramBuckets;
using runtime::HistogramSnapshot;

constexpr int kLeastBits = 10;  // 1.023 us
constexpr int kMaxBits = 36;    // 68.7 s
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

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

double to_seconds(std::int64_t value_ns) {
  return static_cast<double>(value_ns) / static_cast<double>(kNsPerSecond);
}

/// Without rounding: nine digits behind the point, those at the end that are 0 left out.
std::string seconds_text(std::int64_t value_ns) {
  std::string text = fmt::format("{}.{:09}", value_ns / kNsPerSecond, value_ns % kNsPerSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// The numbers of fields and types, as Prometheus's metrics.proto has them.
constexpr std::uint32_t kFamilyType = 3;
constexpr std::uint32_t kFamilyMetric = 4;
constexpr std::uint32_t kGauge = 2;
constexpr std::uint32_t kCounter = 3;
constexpr std::uint32_t kHistogram = 7;
constexpr std::uint32_t kBucket = 3;
constexpr std::uint32_t kExemplar = 3;

std::uint64_t type_number(std::string_view type) {
  constexpr std::array<std::string_view, 5> kTypes = {"counter", "gauge", "summary", "untyped",
                                                      "histogram"};
  return static_cast<std::uint64_t>(std::ranges::find(kTypes, type) - kTypes.begin());
}

template <typename Labels>
void write_labels(const Labels& labels, telemetry::ProtoWriter& metric) {
  for (const auto& [name, text] : labels) {
    telemetry::ProtoWriter pair;
    pair.bytes(1, name);
    pair.bytes(2, valid_utf8(text));
    metric.message(1, pair);
  }
}

std::string exemplar_text(const telemetry::Exemplar& exemplar) {
  return fmt::format(" # {{trace_id=\"{}\"}} {} {:.3f}", terms::to_hex(exemplar.trace),
                     seconds_text(exemplar.total_ns), to_seconds(exemplar.wall_ns));
}

telemetry::ProtoWriter exemplar_message(const telemetry::Exemplar& exemplar) {
  telemetry::ProtoWriter message;
  write_labels(PrometheusText::Labels{{"trace_id", terms::to_hex(exemplar.trace)}}, message);
  message.real(2, to_seconds(exemplar.total_ns));
  telemetry::ProtoWriter time;
  time.number(1, static_cast<std::uint64_t>(exemplar.wall_ns / kNsPerSecond));
  time.number(2, static_cast<std::uint64_t>(exemplar.wall_ns % kNsPerSecond));
  message.message(3, time);
  return message;
}

/// The classic buckets: their ends, and how many values are below each. One sample for each.
template <typename Each>
void for_each_bucket(const HistogramSnapshot& histogram, const Each& each) {
  std::int64_t below = 0;
  std::size_t next = 0;
  for (int bits = kLeastBits; bits <= kMaxBits; ++bits) {
    const std::int64_t end_ns = std::int64_t{1} << bits;
    for (; next < histogram.counts().size() && HistogramBuckets::lower_bound_ns(next) < end_ns;
         ++next) {
      below += histogram.counts()[next];
    }
    each(end_ns - 1, below);
  }
}

}  // namespace

MetricsForm choose_form(std::string_view accept) {
  const auto names = [accept](std::string_view text) {
    return accept.find(text) != std::string_view::npos;
  };
  if (names("application/vnd.google.protobuf") && names("io.prometheus.client.MetricFamily") &&
      names("delimited")) {
    return MetricsForm::kProtobuf;
  }
  return names("application/openmetrics-text") ? MetricsForm::kOpenMetrics : MetricsForm::kText;
}

std::string_view type_of(MetricsForm form) {
  switch (form) {
    case MetricsForm::kOpenMetrics:
      return "application/openmetrics-text; version=1.0.0; charset=utf-8";
    case MetricsForm::kProtobuf:
      return "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
             "encoding=delimited";
    case MetricsForm::kText: break;
  }
  return "text/plain; version=0.0.4; charset=utf-8";
}

void PrometheusText::begin(std::string_view name, std::string_view type, std::string_view help) {
  begin_alias(fmt::format("sluice_{}", name), type, help);
}

void PrometheusText::begin_alias(std::string_view name, std::string_view type,
                                 std::string_view help) {
  end_family();
  family_ = name;
  is_counter_ = type == "counter";
  switch (form_) {
    case MetricsForm::kText:
      text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family_, help, family_, type);
      break;
    case MetricsForm::kOpenMetrics: {
      // A counter's samples end in _total, and its family's name does not. Triton's lack the end.
      constexpr std::string_view kTotal = "_total";
      std::string_view family = name;
      const bool is_total = family.ends_with(kTotal);
      if (is_counter_ && is_total) family.remove_suffix(kTotal.size());
      text_ += fmt::format("# TYPE {} {}\n# HELP {} {}\n", family,
                           is_counter_ && !is_total ? "unknown" : type, family, help);
      break;
    }
    case MetricsForm::kProtobuf:
      message_.bytes(1, name);
      message_.bytes(2, help);
      message_.number(kFamilyType, type_number(type));
  }
}

void PrometheusText::end_family() {
  if (form_ == MetricsForm::kProtobuf && !message_.text().empty()) {
    text_ += message_.take_delimited();
  }
}

std::string PrometheusText::take() {
  end_family();
  if (form_ == MetricsForm::kProtobuf) return std::move(text_);
  if (form_ == MetricsForm::kOpenMetrics) text_ += "# EOF\n";
  return valid_utf8(text_);
}

void PrometheusText::sample(std::string_view suffix, const Labels& labels, std::string_view value,
                            std::string_view exemplar) {
  text_ += family_;
  text_ += suffix;
  char mark = '{';
  for (const auto& [name, text] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", mark, name, escaped(text));
    mark = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_ += fmt::format(" {}{}\n", value, exemplar);
}

/// `text` is the number without rounding.
void PrometheusText::add_number(const Labels& labels, double number, std::string_view text) {
  if (form_ != MetricsForm::kProtobuf) return sample("", labels, text);
  telemetry::ProtoWriter metric;
  write_labels(labels, metric);
  telemetry::ProtoWriter value;
  value.real(1, number);
  metric.message(is_counter_ ? kCounter : kGauge, value);
  message_.message(kFamilyMetric, metric);
}

void PrometheusText::add(const Labels& labels, std::int64_t value) {
  add_number(labels, static_cast<double>(value), std::to_string(value));
}

void PrometheusText::add_seconds(const Labels& labels, std::int64_t value_ns) {
  add_number(labels, to_seconds(value_ns), seconds_text(value_ns));
}

void PrometheusText::add_ratio(const Labels& labels, double value) {
  add_number(labels, value, fmt::format("{:.4f}", value));
}

void PrometheusText::add_tenths(const Labels& labels, double value) {
  add_number(labels, value, fmt::format("{:.1f}", value));
}

void PrometheusText::add(const Labels& labels, const HistogramSnapshot& histogram,
                         const telemetry::Exemplar* exemplar) {
  std::int64_t begin_ns = 0;
  const auto has_exemplar = [&](std::int64_t bound_ns) {
    const bool is_here =
        exemplar != nullptr && exemplar->total_ns >= begin_ns && exemplar->total_ns <= bound_ns;
    begin_ns = bound_ns + 1;
    return is_here;
  };
  if (form_ == MetricsForm::kProtobuf) {
    telemetry::ProtoWriter value;
    value.number(1, static_cast<std::uint64_t>(histogram.count()));
    value.real(2, to_seconds(histogram.sum_ns()));
    for_each_bucket(histogram, [&](std::int64_t bound_ns, std::int64_t below) {
      telemetry::ProtoWriter bucket;
      bucket.number(1, static_cast<std::uint64_t>(below));
      bucket.real(2, to_seconds(bound_ns));
      if (has_exemplar(bound_ns)) bucket.message(kExemplar, exemplar_message(*exemplar));
      value.message(kBucket, bucket);
    });
    write_native(histogram, value);
    telemetry::ProtoWriter metric;
    write_labels(labels, metric);
    metric.message(kHistogram, value);
    return message_.message(kFamilyMetric, metric);
  }
  const bool may_have_one = form_ == MetricsForm::kOpenMetrics;
  Labels with_bound = labels;
  with_bound.emplace_back("le", "");
  for_each_bucket(histogram, [&](std::int64_t bound_ns, std::int64_t below) {
    with_bound.back().second = seconds_text(bound_ns);
    const bool is_marked = has_exemplar(bound_ns) && may_have_one;
    sample("_bucket", with_bound, std::to_string(below), is_marked ? exemplar_text(*exemplar) : "");
  });
  with_bound.back().second = "+Inf";
  sample("_bucket", with_bound, std::to_string(histogram.count()));
  sample("_sum", labels, seconds_text(histogram.sum_ns()));
  sample("_count", labels, std::to_string(histogram.count()));
}

}  // namespace sluice::service
