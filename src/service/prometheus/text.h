// The text format in which Prometheus reads numbers, version 0.0.4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/statistics/histogram.h"

namespace sluice::service {

/// The content type of the format.
inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

/// Writes families of samples, each family once. Format:
/// https://prometheus.io/docs/instrumenting/exposition_formats/
class PrometheusText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  /// Begins a family; samples of it follow. `name` without "sluice_", which all have. `type`:
  /// "counter" (its name ends in _total), "gauge" or "histogram".
  void begin(std::string_view name, std::string_view type, std::string_view help);
  /// The same for a name without the prefix of Sluice, which dashboards of other servers read.
  void begin_alias(std::string_view name, std::string_view type, std::string_view help);
  void add(const Labels& labels, std::int64_t value);
  /// A duration, in seconds.
  void add_seconds(const Labels& labels, std::int64_t value_ns);
  /// Buckets that end just below the powers of two from 1 us to 69 s, where the runtime's own do:
  /// the counts are exact.
  void add(const Labels& labels, const runtime::HistogramSnapshot& histogram);

  /// All of it.
  std::string take() { return std::move(text_); }

 private:
  void sample(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string family_;
  std::string text_;
};

}  // namespace sluice::service
