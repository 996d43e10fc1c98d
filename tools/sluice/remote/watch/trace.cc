#include "sluice/remote/watch/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/remote/remote.h"
#include "terms/runtime_code.h"

namespace sluice::tool {
namespace {

using nlohmann::ordered_json;
using terms::Profile;
using terms::ProfiledModel;
using terms::ProfileSpan;
using terms::SpanKind;
using terms::StageKind;

constexpr int kRequestsThread = 0;  ///< where a group's asynchronous slices hang

std::string stage_name(StageKind kind) {
  switch (kind) {
    case StageKind::kCopyIn: return "copy in";
    case StageKind::kCopyOut: return "copy out";
    case StageKind::kCompute: break;
  }
  return "compute";
}

/// Groups are processes of the trace. Their lanes are threads, on which stages and operations are
/// slices; waiting and whole requests overlap, so they are asynchronous events of thread 0.
class TraceWriter {
 public:
  TraceWriter(const Profile& profile, std::ostream& to) : profile_(profile), to_(to) {}

  void write() {
    to_ << R"({"displayTimeUnit":"ns","otherData":)"
        << text_of({{"duration_ns", profile_.duration_ns},
                    {"spans", profile_.spans.size()},
                    {"dropped_spans", profile_.num_dropped}})
        << R"(,"traceEvents":[)";
    name_tracks();
    // Outer slices before those within them.
    std::vector<const ProfileSpan*> spans;
    for (const ProfileSpan& span : profile_.spans) spans.push_back(&span);
    std::ranges::stable_sort(spans, [](const ProfileSpan* a, const ProfileSpan* b) {
      return std::pair(a->start_ns, -a->duration_ns) < std::pair(b->start_ns, -b->duration_ns);
    });
    if (!spans.empty()) first_ns_ = spans.front()->start_ns;
    for (const ProfileSpan* span : spans) add(*span);
    to_ << "\n]}\n";
  }

 private:
  /// Names that are not UTF-8 get the replacement character.
  static std::string text_of(const ordered_json& json) {
    return json.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
  }
  void emit(const ordered_json& event) {
    to_ << (std::exchange(has_events_, true) ? ",\n" : "\n") << text_of(event);
  }
  /// In microseconds, since that is what the format wants.
  double time(std::int64_t at_ns) const { return static_cast<double>(at_ns - first_ns_) / 1e3; }

  void name(const char* what, std::uint64_t group, std::size_t thread, const std::string& text) {
    emit(
        {{"ph", "M"}, {"name", what}, {"pid", group}, {"tid", thread}, {"args", {{"name", text}}}});
  }

  void name_tracks() {
    std::map<std::uint64_t, std::vector<terms::CoreRef>> cores_of_group;
    // Threads are numbered through all models: lane `l` of model `m` is first_threads_[m] + l.
    std::size_t next_thread = kRequestsThread + 1;
    for (const ProfiledModel& model : profile_.models) {
      first_threads_.push_back(next_thread);
      auto& cores = cores_of_group[model.group];
      for (const ProfiledModel::Lane& lane : model.lanes) {
        const std::string where =
            lane.cores.empty() ? "" : fmt::format(" on {}", describe_cores(lane.cores));
        name("thread_name", model.group, next_thread++,
             fmt::format("{}: {}{}", model.name, stage_name(lane.kind), where));
        cores.insert(cores.end(), lane.cores.begin(), lane.cores.end());
      }
    }
    for (auto& [group, cores] : cores_of_group) {
      std::ranges::sort(cores, {}, key_of);
      const auto is_same = [](const auto& a, const auto& b) { return key_of(a) == key_of(b); };
      cores.erase(std::unique(cores.begin(), cores.end(), is_same), cores.end());
      name("process_name", group, kRequestsThread,
           fmt::format("group {} ({})", group, describe_cores(cores)));
      name("thread_name", group, kRequestsThread, "requests");
    }
  }
  static std::pair<std::int32_t, std::int32_t> key_of(const terms::CoreRef& core) {
    return {core.device.value(), core.core};
  }

  void add(const ProfileSpan& span) {
    switch (span.kind) {
      case SpanKind::kRequest:
        return add_asynchronous(span, fmt::format("request {}", span.request));
      case SpanKind::kQueue: return add_asynchronous(span, "queue");
      case SpanKind::kOperation: return add_slice(span, profile_.names[span.name]);
      default: break;
    }
    add_slice(span, stage_name(profile_.models[span.model].lanes[span.lane].kind));
    add_arrow(span);
  }

  ordered_json event(const char* phase, const ProfileSpan& span, std::string_view name,
                     std::int64_t at_ns) const {
    const bool is_on_lane = span.kind != SpanKind::kRequest && span.kind != SpanKind::kQueue;
    return {{"ph", phase},
            {"name", name},
            {"ts", time(at_ns)},
            {"pid", profile_.models[span.model].group},
            {"tid", is_on_lane ? first_threads_[span.model] + span.lane : kRequestsThread}};
  }

  void add_slice(const ProfileSpan& span, std::string_view name) {
    ordered_json slice = event("X", span, name, span.start_ns);
    slice["dur"] = static_cast<double>(span.duration_ns) / 1e3;
    slice["args"] = {{"request", span.request}};
    emit(slice);
  }

  static std::string id_of(const ProfileSpan& span) {
    return fmt::format("{}.{}", span.model, span.request);
  }

  void add_asynchronous(const ProfileSpan& span, const std::string& name) {
    ordered_json begin = event("b", span, name, span.start_ns);
    begin["cat"] = "request";
    begin["id"] = id_of(span);
    begin["args"] = {{"model", profile_.models[span.model].name}};
    if (span.kind == SpanKind::kRequest) {
      begin["args"]["answer"] = terms::describe(span.code).name;
    }
    emit(begin);
    ordered_json end = event("e", span, name, span.start_ns + span.duration_ns);
    end["cat"] = "request";
    end["id"] = id_of(span);
    emit(end);
  }

  /// From the request's stage before, if it is in the profile.
  void add_arrow(const ProfileSpan& span) {
    const bool is_first = has_arrow_.insert({span.model, span.request}).second;
    ordered_json arrow = event(is_first ? "s" : "t", span, "stages", span.start_ns);
    arrow["cat"] = "stages";
    arrow["id"] = id_of(span);
    emit(arrow);
  }

  const Profile& profile_;
  std::ostream& to_;
  std::int64_t first_ns_ = 0;
  bool has_events_ = false;
  std::vector<std::size_t> first_threads_;  ///< by model: the thread of its lane 0
  std::set<std::pair<std::uint32_t, std::uint64_t>> has_arrow_;
};

}  // namespace

void write_trace(const Profile& profile, std::ostream& to) { TraceWriter(profile, to).write(); }

}  // namespace sluice::tool
