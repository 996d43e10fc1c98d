#include "runtime/profile/profiler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

/// Models choose the names, so their number and length need a bound.
constexpr std::size_t kMaxNames = 1 << 14;
constexpr std::size_t kMaxModels = 1 << 12;
constexpr std::size_t kMaxNameBytes = 160;
constexpr std::string_view kOtherName = "(other)";

}  // namespace

Result<std::uint64_t> Profiler::start(const ProfileOptions& options) {
  if (options.max_spans < 1 || options.max_spans > kMaxSpans) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "a profile of {} spans is not between 1 and {}", options.max_spans,
                                kMaxSpans);
  }
  if (options.limit_ns < 1 || options.limit_ns > kMaxLimitNs) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "a profile of {} ns is not between 1 ns and {} s", options.limit_ns,
                                kMaxLimitNs / 1'000'000'000);
  }
  auto recording = std::make_unique<Recording>();
  recording->options = options;
  recording->profile.start_ns = clock_.now_ns();
  recording->end_ns = recording->profile.start_ns + options.limit_ns;
  const std::lock_guard lock(mutex_);
  if (recordings_.size() >= kMaxProfiles) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, other] : recordings_) ids.push_back(id);
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "{} profiles are being taken or wait to be fetched, the most there may "
        "be; stop one of {}",
        kMaxProfiles, fmt::join(ids, ", "));
  }
  recordings_[next_id_] = std::move(recording);
  // Stages read this number without the lock; a span more or less at the beginning does not matter.
  num_recording_.fetch_add(1, std::memory_order_relaxed);
  return next_id_++;
}

Result<terms::Profile> Profiler::stop(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  // The spans go with the recording: a profile is fetched once.
  const auto it = recordings_.find(id);
  if (it == recordings_.end()) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "there is no profile {}, or no longer",
                                id);
  }
  Recording& recording = *it->second;
  end(recording, std::min(clock_.now_ns(), recording.end_ns));
  terms::Profile profile = std::move(recording.profile);
  // A full recording is a ring: its oldest span is at `next`.
  std::rotate(profile.spans.begin(),
              profile.spans.begin() + static_cast<std::ptrdiff_t>(recording.next),
              profile.spans.end());
  recordings_.erase(it);
  return profile;
}

void Profiler::end(Recording& recording, std::int64_t end_ns) {
  if (!std::exchange(recording.is_recording, false)) return;
  recording.profile.duration_ns = end_ns - recording.profile.start_ns;
  num_recording_.fetch_sub(1, std::memory_order_relaxed);
}

bool Profiler::wants(const Recording& recording,
                     const std::shared_ptr<const terms::ProfiledModel>& model) {
  const ProfileOptions& options = recording.options;
  if (options.model != nullptr && options.model != model) return false;
  return !options.group || *options.group == model->group;
}

void Profiler::add(const std::shared_ptr<const terms::ProfiledModel>& model,
                   std::span<const EndedSpan> spans) {
  if (spans.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, recording] : recordings_) {
    if (!recording->is_recording || !wants(*recording, model)) continue;
    // No timer ends a recording: the first span past its end does.
    if (spans.front().end_ns > recording->end_ns) {
      end(*recording, recording->end_ns);
      continue;
    }
    const auto index = index_of(*recording, model);
    for (const EndedSpan& span : spans) {
      if (index) add_to(*recording, *index, span);
    }
    if (!index) recording->profile.num_dropped += static_cast<std::int64_t>(spans.size());
  }
}

void Profiler::add_to(Recording& recording, std::uint32_t model, const EndedSpan& ended) {
  terms::ProfileSpan span = {ended.kind,
                             model,
                             ended.lane,
                             0,
                             ended.request,
                             ended.start_ns,
                             ended.end_ns - ended.start_ns,
                             ended.code};
  if (ended.kind == terms::SpanKind::kOperation) span.name = name_index(recording, ended.name);
  std::vector<terms::ProfileSpan>& spans = recording.profile.spans;
  if (spans.size() < static_cast<std::size_t>(recording.options.max_spans)) {
    spans.push_back(span);
    return;
  }
  spans[recording.next] = span;
  recording.next = (recording.next + 1) % spans.size();
  ++recording.profile.num_dropped;
}

std::optional<std::uint32_t> Profiler::index_of(
    Recording& recording, const std::shared_ptr<const terms::ProfiledModel>& model) {
  const auto next = static_cast<std::uint32_t>(recording.profile.models.size());
  // Loads and unloads during a recording must not let it grow without a limit.
  if (next >= kMaxModels && !recording.models.contains(model)) return std::nullopt;
  const auto [it, is_new] = recording.models.try_emplace(model, next);
  if (is_new) recording.profile.models.push_back(*model);
  return it->second;
}

std::uint32_t Profiler::name_index(Recording& recording, std::string_view name) {
  std::vector<std::string>& names = recording.profile.names;
  std::string text(name.substr(0, kMaxNameBytes));
  const auto known = recording.names.find(text);
  if (known != recording.names.end()) return known->second;
  if (names.size() >= kMaxNames) text = kOtherName;  // the name of the last index
  const auto next = static_cast<std::uint32_t>(names.size());
  const auto [it, is_new] = recording.names.try_emplace(std::move(text), next);
  if (is_new) names.push_back(it->first);
  return it->second;
}

}  // namespace sluice::runtime
