// The formats in which Prometheus reads numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/statistics/histogram.h"
#include "telemetry/proto_writer.h"
#include "telemetry/telemetry.h"

namespace sluice::service {

/// https://prometheus.io/docs/instrumenting/exposition_formats/
enum class MetricsForm : std::uint8_t {
  kText,         ///< 0.0.4
  kOpenMetrics,  ///< 1.0.0: with exemplars
  kProtobuf,     ///< io.prometheus.client.MetricFamily, delimited: with native histograms, too
};

/// The richest form that a value of "Accept" names; text for what names none.
MetricsForm choose_form(std::string_view accept);
/// Its content type.
std::string_view type_of(MetricsForm form);

/// Writes families of samples, each family once.
class PrometheusText {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  explicit PrometheusText(MetricsForm form = MetricsForm::kText) : form_(form) {}

  /// Begins a family; samples of it follow. `name` without "sluice_", which all have. `type`:
  /// "counter" (its name ends in _total), "gauge" or "histogram".
  void begin(std::string_view name, std::string_view type, std::string_view help);
  /// The same for a name without the prefix of Sluice, which dashboards of other servers read.
  void begin_alias(std::string_view name, std::string_view type, std::string_view help);
  void add(const Labels& labels, std::int64_t value);
  /// A duration, in seconds.
  void add_seconds(const Labels& labels, std::int64_t value_ns);
  void add_ratio(const Labels& labels, double value);
  /// With one decimal.
  void add_tenths(const Labels& labels, double value);
  /// Buckets that end just below the powers of two from 1 us to 69 s, where the runtime's own do:
  /// the counts are exact. Native buckets are eight per power of two seconds; each gets the
  /// runtime's buckets whose middle it has. `exemplar`: of one of the values; null: none.
  void add(const Labels& labels, const runtime::HistogramSnapshot& histogram,
           const telemetry::Exemplar* exemplar = nullptr);

  /// All of it.
  std::string take();

 private:
  void sample(std::string_view suffix, const Labels& labels, std::string_view value,
              std::string_view exemplar = {});
  void add_number(const Labels& labels, double number, std::string_view text);
  void end_family();

  const MetricsForm form_;
  std::string family_;
  bool is_counter_ = false;
  telemetry::ProtoWriter message_;  ///< of the family, with kProtobuf
  std::string text_;
};

}  // namespace sluice::service
