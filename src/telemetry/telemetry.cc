#include "telemetry/telemetry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log/wall_time.h"
#include "telemetry/trace_ids.h"

namespace sluice::telemetry {
namespace {

constexpr std::size_t kMaxIdBytes = 128;
/// The standard has a tracestate of at least so many bytes passed on; a longer one is left out.
constexpr std::size_t kMaxStateBytes = 512;

/// What goes into a head and a log line as it is.
bool is_visible(std::string_view text, char least) {
  return std::ranges::all_of(text, [least](char one) { return one >= least && one <= '~'; });
}

}  // namespace

std::string_view valid_request_id(std::string_view id) {
  return id.size() <= kMaxIdBytes && is_visible(id, '!') ? id : std::string_view();
}

TraceSettings Telemetry::trace_settings() const {
  return {is_on_.load(), rate_.load(), slower_than_ns_.load()};
}

void Telemetry::set_trace_settings(const TraceSettings& settings) {
  rate_.store(settings.rate);
  slower_than_ns_.store(settings.slower_than_ns);
  is_on_.store(settings.is_on);
}

std::shared_ptr<Observation> Telemetry::begin(const Origin& origin) {
  const bool may_trace = span_sink_ != nullptr && is_on_.load(std::memory_order_relaxed);
  const bool is_logged = access_sink_ != nullptr || traffic_sink_ != nullptr;
  if (!may_trace && !is_logged) return nullptr;
  const auto caller = origin.caller ? origin.caller : terms::parse_traceparent(origin.traceparent);
  const std::int64_t rate = rate_.load(std::memory_order_relaxed);
  const bool is_chosen = caller ? caller->is_sampled : rate > 0 && is_one_of(rate);
  const bool is_sampled = may_trace && is_chosen;
  const bool may_be_slow = may_trace && slower_than_ns_.load(std::memory_order_relaxed) > 0;
  if (!is_sampled && !may_be_slow && !is_logged) return nullptr;
  RequestRecord record;
  record.start_ns = system_clock().now_ns();
  record.door = origin.door;
  record.id = valid_request_id(origin.request_id);
  if (record.id.empty()) record.id = terms::to_hex(new_trace_id());
  record.trace = {caller ? caller->trace : new_trace_id(), new_span_id(), is_sampled};
  if (caller) {
    record.parent = caller->span;
    const bool is_state =
        origin.tracestate.size() <= kMaxStateBytes && is_visible(origin.tracestate, ' ');
    if (is_state) record.tracestate = origin.tracestate;
  }
  return std::make_shared<Observation>(shared_from_this(), std::move(record));
}

void Telemetry::end(RequestRecord record) const {
  record.end_ns = system_clock().now_ns();
  record.wall_offset_ns = wall_offset_ns();
  const std::int64_t slower_ns = slower_than_ns_.load(std::memory_order_relaxed);
  const bool is_slow = slower_ns > 0 && is_on_.load(std::memory_order_relaxed) &&
                       record.end_ns - record.start_ns >= slower_ns;
  // A request for a path that does not exist has a line in the log and no span.
  const bool is_span =
      span_sink_ != nullptr && !record.model.empty() && (record.trace.is_sampled || is_slow);
  const bool is_traffic = traffic_sink_ != nullptr && !record.inputs.empty();
  if (!is_span && !is_traffic && access_sink_ == nullptr) return;
  if (is_span) keep_exemplar(record);
  // Spans and lines may wait for long: they must not hold the inputs.
  std::vector<RecordedInput> inputs = std::exchange(record.inputs, {});
  if (is_traffic) {
    traffic_sink_({record.start_ns, record.priority, record.model, std::move(inputs),
                   std::move(record.inputs_charge)});
  }
  if (!is_span && access_sink_ == nullptr) return;
  const auto shared = std::make_shared<const RequestRecord>(std::move(record));
  if (is_span) span_sink_(shared);
  if (access_sink_ != nullptr) access_sink_(shared);
}

void Telemetry::keep_exemplar(const RequestRecord& record) const {
  if (record.answered_ns == 0 || record.code != Code::kOk) return;
  const Exemplar exemplar = {record.trace.trace, record.answered_ns - record.submitted_ns,
                             record.answered_ns + record.wall_offset_ns};
  const std::lock_guard lock(exemplars_mutex_);
  const auto it = exemplars_.find({record.model, record.version});
  if (it != exemplars_.end()) {
    it->second = exemplar;
  } else if (exemplars_.size() < kMaxExemplars) {
    exemplars_.try_emplace({record.model, record.version}, exemplar);
  }
}

Exemplars Telemetry::exemplars() const {
  const std::lock_guard lock(exemplars_mutex_);
  return exemplars_;
}

}  // namespace sluice::telemetry
