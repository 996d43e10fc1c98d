#include "telemetry/span_exporter.h"

#include <span>

#include "telemetry/otlp.h"

namespace sluice::telemetry {
namespace {

/// Far below the 4 MiB that collectors take by gRPC.
constexpr std::size_t kMessageBytes = std::size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<SpanExporter>> SpanExporter::start(
    SendSpans send, std::string version, std::function<void(const Status&)> on_change,
    BatchLimits limits) {
  std::unique_ptr<SpanExporter> made(
      new SpanExporter(std::move(send), std::move(version), std::move(on_change)));
  const auto work = [raw = made.get()](const Batch& batch) { raw->send(batch); };
  using Thread = BatchThread<std::shared_ptr<const RequestRecord>>;
  made->thread_ = SLUICE_TRY(Thread::start(limits, work));
  return made;
}

SpanExporter::~SpanExporter() {
  if (thread_ != nullptr && !thread_->end()) stop_.request_stop();
}

SpanExporter::Counts SpanExporter::counts() const {
  return {sent_spans_.load(), lost_spans_.load(), thread_->num_dropped()};
}

void SpanExporter::send(const Batch& batch) {
  Status status = stop_.stop_requested()
                      ? make_error(Code::kDeadlineExceeded, "the daemon ends before they are sent")
                      : ok_status();
  for (std::span rest(batch); !rest.empty();) {
    const SpanBatch spans = to_otlp(rest, version_, kMessageBytes);
    rest = rest.subspan(spans.num_requests);
    if (status.is_ok()) status = send_(spans.request, stop_.get_token());
    (status.is_ok() ? sent_spans_ : lost_spans_) += spans.num_spans;
    if (status.is_ok() == is_failing_) on_change_(status);
    is_failing_ = !status.is_ok();
  }
}

}  // namespace sluice::telemetry
