// Which requests are observed, and who gets what is known of them in the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/observation.h"
#include "telemetry/request_record.h"
#include "telemetry/traffic_file.h"

namespace sluice::telemetry {

/// Which requests become spans. A caller's own decision in `traceparent` is followed; the rate is
/// for requests without one.
struct TraceSettings {
  bool is_on = true;
  std::int64_t rate = 0;            ///< one of so many, at random; 0: none
  std::int64_t slower_than_ns = 0;  ///< each that takes so long, whatever was decided; 0: none
};

/// What a request brings along. The texts are borrowed for the call.
struct Origin {
  std::string_view door;              ///< as RequestRecord
  std::string_view traceparent = {};  ///< empty: none
  std::string_view tracestate = {};
  /// Instead of `traceparent`, of a door without texts.
  std::optional<terms::TraceContext> caller = {};
  std::string_view request_id = {};  ///< the client's; empty: none
};

/// A traced request that stands for those of its bucket in a histogram.
struct Exemplar {
  terms::TraceId trace = {};
  std::int64_t total_ns = 0;  ///< from the submission to the model's answer
  std::int64_t wall_ns = 0;   ///< of the answer, since 1970
};
/// By the model's name and version.
using Exemplars = std::map<std::pair<std::string, std::int64_t>, Exemplar>;

/// Called once for a request, on any thread; must not block.
using RecordSink = std::function<void(std::shared_ptr<const RequestRecord>)>;
/// The same; the request's arrival is on the machine's monotonic clock.
using TrafficSink = std::function<void(RecordedRequest)>;
/// Memory for the inputs of a request, or why it is not recorded.
using TrafficRoom = std::function<Result<ByteCharge>(std::int64_t bytes)>;

/// Safe across threads, but for functions that say "before clients call". Observations keep it.
class Telemetry : public std::enable_shared_from_this<Telemetry> {
 public:
  /// Gets the requests that `trace_settings` chooses. Before clients call.
  void set_span_sink(RecordSink sink) { span_sink_ = std::move(sink); }
  /// Gets every request. Before clients call.
  void set_access_sink(RecordSink sink) { access_sink_ = std::move(sink); }
  /// Gets every request with copies of its inputs, if `room` returns a charge for their bytes and a
  /// recording can hold them. Both are called on any thread. Before clients call.
  void set_traffic_sink(TrafficSink sink, TrafficRoom room) {
    traffic_sink_ = std::move(sink);
    traffic_room_ = std::move(room);
  }
  bool has_span_sink() const { return span_sink_ != nullptr; }

  TraceSettings trace_settings() const;
  /// For requests that begin from now on. One that begins meanwhile may see a part of the change.
  void set_trace_settings(const TraceSettings& settings);

  /// The latest traced request of each version of a model, of at most so many versions.
  static constexpr std::size_t kMaxExemplars = 1024;
  Exemplars exemplars() const;

  /// Begins to observe a request that a door just took. Null: nobody wants to know of it.
  std::shared_ptr<Observation> begin(const Origin& origin);

 private:
  friend class Observation;
  void end(RequestRecord record) const;
  void keep_exemplar(const RequestRecord& record) const;

  RecordSink span_sink_;
  RecordSink access_sink_;
  TrafficSink traffic_sink_;
  TrafficRoom traffic_room_;
  std::atomic<bool> is_on_ = true;
  std::atomic<std::int64_t> rate_ = 0;
  std::atomic<std::int64_t> slower_than_ns_ = 0;
  mutable std::mutex exemplars_mutex_;
  mutable Exemplars exemplars_;
};

/// The client's id if it is one: up to 128 visible characters of ASCII. Else empty.
std::string_view valid_request_id(std::string_view id);

}  // namespace sluice::telemetry
