// Statistics, health and profiles in C++, over `sluice/statistics.h`.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/request.hpp"
#include "sluice/runtime.hpp"
#include "sluice/statistics.h"

namespace sluice {

struct ModelStatistics {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t waiting = 0;
  std::int64_t max_waiting = 0;
  std::int64_t num_starts = 0;
  std::int64_t busy_ns = 0;
  std::vector<sluice_runtime_code_count> answered = {};
  sluice_latency queue = {};
  sluice_latency copy = {};
  sluice_latency compute = {};
  sluice_latency total = {};
  std::int64_t recorded_bytes = 0;
  std::int64_t joined = 0;  ///< requests that ran together with others
};

inline Expected<ModelStatistics> statistics_of(const Runtime& runtime, const LoadedModel& model) {
  const sluice_model_statistics* c = nullptr;
  if (auto error = detail::check(sluice_runtime_statistics(runtime.get(), model.id(), &c))) {
    return *error;
  }
  const detail::Snapshot<sluice_model_statistics> owner(c);
  return ModelStatistics{c->accepted,
                         c->refused,
                         c->waiting,
                         c->max_waiting,
                         c->num_starts,
                         c->busy_ns,
                         {c->answered, c->answered + c->num_answered},
                         c->queue,
                         c->copy,
                         c->compute,
                         c->total,
                         c->recorded_bytes,
                         c->joined};
}

struct Health {
  std::int32_t state = SLUICE_HEALTH_HEALTHY;
  std::string reason = {};
  std::string action = {};
};

inline Expected<Health> health_of(const Runtime& runtime, const LoadedModel& model) {
  const sluice_health* c = nullptr;
  if (auto error = detail::check(sluice_runtime_health(runtime.get(), model.id(), &c))) {
    return *error;
  }
  const detail::Snapshot<sluice_health> owner(c);
  return Health{c->state, c->reason, c->action};
}

/// A recording. Move-only; destroying it drops the spans.
class Profile {
 public:
  /// Begins to record.
  static Expected<Profile> start(const Runtime& runtime,
                                 const sluice_profile_options& options = {}) {
    sluice_profile_options c = options;
    c.struct_size = sizeof(c);
    std::uint64_t id = 0;
    if (auto error = detail::check(sluice_runtime_start_profile(runtime.get(), &c, &id))) {
      return *error;
    }
    return Profile(runtime, id);
  }
  /// Begins to record one model.
  static Expected<Profile> start(const Runtime& runtime, const LoadedModel& model) {
    sluice_profile_options options = {};
    options.model = model.id();
    return start(runtime, options);
  }
  Profile(Profile&& other) noexcept
      : runtime_(std::move(other.runtime_)),
        id_(std::exchange(other.id_, 0)),
        stopped_(std::move(other.stopped_)) {}
  Profile& operator=(Profile&&) = delete;
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile() { (void)stop(); }

  /// Ends the recording. Fails if it has ended.
  [[nodiscard]] std::optional<Error> stop() {
    if (id_ == 0) return Error{Code::kFailedPrecondition, "the profile was stopped"};
    const sluice_profile* c = nullptr;
    const std::uint64_t id = std::exchange(id_, 0);
    if (auto error = detail::check(sluice_runtime_stop_profile(runtime_.get(), id, &c))) {
      return error;
    }
    stopped_.reset(c);
    return std::nullopt;
  }
  /// After `stop`; live as long as this object.
  std::span<const sluice_span* const> spans() const {
    return stopped_ ? std::span(stopped_->spans, stopped_->count)
                    : std::span<const sluice_span* const>();
  }

 private:
  Profile(Runtime runtime, std::uint64_t id) : runtime_(std::move(runtime)), id_(id) {}
  Runtime runtime_;
  std::uint64_t id_;
  detail::Snapshot<sluice_profile> stopped_;
};

}  // namespace sluice
