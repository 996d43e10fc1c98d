// Sends the spans of requests to a collector, beside the requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "telemetry/batch_thread.h"
#include "telemetry/request_record.h"

namespace sluice::telemetry {

/// Delivers an ExportTraceServiceRequest in protobuf's encoding. May block for seconds, but returns
/// soon after `stop` is requested.
using SendSpans = std::function<Status(const std::string& request, const std::stop_token& stop)>;

/// A queue of at most BatchLimits::most requests and a thread that sends their spans. A request
/// that finds no room, and spans that the collector does not take, are lost and counted. After a
/// message that failed, the rest of its batch is lost without a try: a collector that hangs would
/// take the time of each message. Safe across threads.
class SpanExporter {
 public:
  /// `on_change` is told, on the thread, of the first batch that is lost after others went well,
  /// and with ok of the first that goes well after a loss. Fails: as start_thread.
  static Result<std::unique_ptr<SpanExporter>> start(SendSpans send, std::string version,
                                                     std::function<void(const Status&)> on_change,
                                                     BatchLimits limits = {});
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;
  /// Sends what waits for up to BatchLimits::patience. The rest is lost.
  ~SpanExporter();

  void add(std::shared_ptr<const RequestRecord> record) { thread_->push(std::move(record)); }

  struct Counts {
    std::int64_t sent_spans = 0;
    std::int64_t lost_spans = 0;        ///< of batches that the collector did not take
    std::int64_t dropped_requests = 0;  ///< that found the queue full, or no memory
  };
  Counts counts() const;

 private:
  using Batch = std::vector<std::shared_ptr<const RequestRecord>>;

  SpanExporter(SendSpans send, std::string version, std::function<void(const Status&)> on_change)
      : send_(std::move(send)), version_(std::move(version)), on_change_(std::move(on_change)) {}
  void send(const Batch& batch);

  const SendSpans send_;
  const std::string version_;
  const std::function<void(const Status&)> on_change_;
  std::stop_source stop_;
  bool is_failing_ = false;  ///< the thread's
  std::atomic<std::int64_t> sent_spans_ = 0;
  std::atomic<std::int64_t> lost_spans_ = 0;
  std::unique_ptr<BatchThread<std::shared_ptr<const RequestRecord>>> thread_;  ///< ends first
};

}  // namespace sluice::telemetry
