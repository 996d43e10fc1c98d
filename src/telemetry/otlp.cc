#include "telemetry/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "telemetry/proto_writer.h"
#include "telemetry/trace_ids.h"

namespace sluice::telemetry {
namespace {

// The numbers of the fields, as opentelemetry-proto's trace.proto, common.proto and resource.proto
// have them.
namespace span_field {
constexpr std::uint32_t kTrace = 1, kSpan = 2, kState = 3, kParent = 4, kName = 5, kKind = 6,
                        kStart = 7, kEnd = 8, kAttributes = 9, kStatus = 15, kFlags = 16;
}  // namespace span_field

enum class Kind : std::uint8_t { kInternal = 1, kServer = 2 };
constexpr std::uint64_t kStatusError = 2;
/// The caller's span came from another process, as far as it is known.
constexpr std::uint32_t kHasRemoteFlag = 0x100;
constexpr std::uint32_t kIsRemoteFlag = 0x200;
constexpr std::uint32_t kSampledFlag = 1;

template <typename Id>
std::string_view bytes_of(const Id& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

ProtoWriter key_value(std::string_view key, const ProtoWriter& value) {
  ProtoWriter attribute;
  attribute.bytes(1, key);
  attribute.message(2, value);
  return attribute;
}

void add_text(ProtoWriter& to, std::uint32_t field, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  ProtoWriter value;
  value.bytes(1, valid_utf8(text));
  to.message(field, key_value(key, value));
}

void add_number(ProtoWriter& to, std::uint32_t field, std::string_view key, std::int64_t number) {
  ProtoWriter value;
  value.number(3, static_cast<std::uint64_t>(number));
  to.message(field, key_value(key, value));
}

/// The spans of one request.
class SpanWriter {
 public:
  SpanWriter(const RequestRecord& record, ProtoWriter& scope) : record_(record), scope_(scope) {}

  std::int64_t write() {
    write_request();
    write_run();
    if (record_.answered_ns != 0) {
      add("reply", record_.trace.span, record_.answered_ns, record_.end_ns);
    }
    return num_spans_;
  }

 private:
  /// All but attributes and status. Times are on the machine's clock.
  ProtoWriter begin(const terms::SpanId& id, std::string_view name, Kind kind,
                    std::int64_t start_ns, std::int64_t end_ns) const {
    ProtoWriter span;
    span.bytes(span_field::kTrace, bytes_of(record_.trace.trace));
    span.bytes(span_field::kSpan, bytes_of(id));
    if (!record_.tracestate.empty()) span.bytes(span_field::kState, record_.tracestate);
    span.bytes(span_field::kName, valid_utf8(name));
    span.number(span_field::kKind, static_cast<std::uint64_t>(kind));
    const auto wall = [this](std::int64_t ns) {
      return static_cast<std::uint64_t>(ns + record_.wall_offset_ns);
    };
    span.fixed64(span_field::kStart, wall(start_ns));
    span.fixed64(span_field::kEnd, wall(std::max(start_ns, end_ns)));
    return span;
  }

  void end(const ProtoWriter& span) {
    constexpr std::uint32_t kSpans = 2;
    scope_.message(kSpans, span);
    ++num_spans_;
  }

  void write_request() {
    constexpr std::uint32_t kAttributes = span_field::kAttributes;
    ProtoWriter span = begin(record_.trace.span, "infer " + record_.model, Kind::kServer,
                             record_.start_ns, record_.end_ns);
    std::uint32_t flags = record_.trace.is_sampled ? kSampledFlag : 0;
    if (record_.parent) {
      span.bytes(span_field::kParent, bytes_of(*record_.parent));
      flags |= kHasRemoteFlag | kIsRemoteFlag;
    }
    add_text(span, kAttributes, "sluice.door", record_.door);
    add_text(span, kAttributes, "sluice.model", record_.model);
    add_text(span, kAttributes, "sluice.request.id", record_.id);
    add_text(span, kAttributes, "enduser.id", record_.user);
    add_number(span, kAttributes, "sluice.request.bytes", record_.bytes_in);
    add_number(span, kAttributes, "sluice.reply.bytes", record_.bytes_out);
    if (record_.http_status != 0) {
      add_number(span, kAttributes, "http.response.status_code", record_.http_status);
    }
    if (record_.code != Code::kOk) {
      constexpr std::uint32_t kMessage = 2;
      constexpr std::uint32_t kCode = 3;
      add_number(span, kAttributes, "rpc.grpc.status_code",
                 static_cast<std::int64_t>(record_.code));
      ProtoWriter status;
      status.bytes(kMessage, valid_utf8(record_.message));
      status.number(kCode, kStatusError);
      span.message(span_field::kStatus, status);
    }
    span.fixed32(span_field::kFlags, flags);
    end(span);
  }

  /// Returns the new span's id.
  terms::SpanId add(std::string_view name, const terms::SpanId& parent, std::int64_t start_ns,
                    std::int64_t end_ns, std::string_view backend = {}) {
    const terms::SpanId id = new_span_id();
    ProtoWriter span = begin(id, name, Kind::kInternal, start_ns, end_ns);
    span.bytes(span_field::kParent, bytes_of(parent));
    add_text(span, span_field::kAttributes, "sluice.backend", backend);
    end(span);
    return id;
  }

  void write_run() {
    const terms::ReplyDetail& detail = record_.detail;
    if (record_.submitted_ns == 0 || record_.answered_ns == 0) return;
    // An error comes without times.
    const bool has_sums = detail.submitted_ns != 0 || detail.queue_ns + detail.compute_ns != 0;
    if (detail.stages.empty() && !has_sums) return;
    const std::int64_t offset_ns = record_.engine_offset_ns;
    const std::int64_t submitted_ns =
        detail.submitted_ns == 0 ? record_.submitted_ns : detail.submitted_ns + offset_ns;
    const std::int64_t begun_ns = submitted_ns + detail.queue_ns;
    add("queue", record_.trace.span, submitted_ns, begun_ns);
    if (detail.stages.empty()) {
      const std::int64_t end_ns = begun_ns + detail.copy_ns + detail.compute_ns;
      if (end_ns > begun_ns) add("compute", record_.trace.span, begun_ns, end_ns);
      return;
    }
    terms::SpanId parent = record_.trace.span;
    if (detail.is_joined) {
      const terms::StageTime& last = detail.stages.back();
      parent = add("batch", parent, detail.stages.front().start_ns + offset_ns,
                   last.start_ns + last.duration_ns + offset_ns);
    }
    for (const terms::StageTime& stage : detail.stages) add_stage(stage, parent);
  }

  void add_stage(const terms::StageTime& stage, const terms::SpanId& parent) {
    const std::int64_t start_ns = stage.start_ns + record_.engine_offset_ns;
    const std::int64_t end_ns = start_ns + stage.duration_ns;
    switch (stage.kind) {
      case terms::StageKind::kCopyIn: add("copy in", parent, start_ns, end_ns); break;
      case terms::StageKind::kCopyOut: add("copy out", parent, start_ns, end_ns); break;
      case terms::StageKind::kCompute: {
        const auto& backends = record_.detail.backends;
        const std::string_view backend =
            stage.segment < backends.size() ? std::string_view(backends[stage.segment]) : "";
        add(fmt::format("segment {}", stage.segment), parent, start_ns, end_ns, backend);
      }
    }
  }

  const RequestRecord& record_;
  ProtoWriter& scope_;
  std::int64_t num_spans_ = 0;
};

}  // namespace

SpanBatch to_otlp(std::span<const std::shared_ptr<const RequestRecord>> records,
                  const std::string& version, std::size_t most_bytes) {
  SpanBatch batch;
  ProtoWriter name;
  name.bytes(1, "sluice");
  name.bytes(2, version);
  ProtoWriter scope;
  scope.message(1, name);
  for (const auto& record : records) {
    batch.num_spans += SpanWriter(*record, scope).write();
    ++batch.num_requests;
    if (scope.text().size() >= most_bytes) break;
  }
  ProtoWriter resource;
  add_text(resource, 1, "service.name", "sluiced");
  add_text(resource, 1, "service.version", version);
  ProtoWriter resource_spans;
  resource_spans.message(1, resource);
  resource_spans.message(2, scope);
  ProtoWriter request;
  request.message(1, resource_spans);
  batch.request = request.take();
  return batch;
}

}  // namespace sluice::telemetry
