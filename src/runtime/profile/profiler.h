// Records several profiles at a time, each in memory of a fixed size.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"
#include "terms/server/profile.h"

namespace sluice::runtime {

struct ProfileOptions {
  /// Filter: one group, or one model; neither: everything.
  std::optional<std::uint64_t> group;
  std::shared_ptr<const terms::ProfiledModel> model;
  /// Recording ends after this time; `stop` returns the spans.
  std::int64_t limit_ns = terms::ProfileSettings().limit_ns;
  /// A full profile replaces its oldest spans.
  std::int64_t max_spans = terms::ProfileSettings().max_spans;
};

/// An ended span, as a scheduler reports it.
struct EndedSpan {
  terms::SpanKind kind = terms::SpanKind::kRequest;
  std::uint32_t lane = 0;
  std::uint64_t request = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  RuntimeCode code = RuntimeCode::kOk;
  std::string_view name = {};  ///< of an operation
};

/// Safe across threads. Without a recording a scheduler pays one relaxed load per span.
///
///     start --> recording --limit--> ended --stop--> gone
///                   +---------stop------------------->
class Profiler {
 public:
  static constexpr std::size_t kMaxProfiles = 4;
  static constexpr std::int64_t kMaxSpans = std::int64_t{1} << 20;  ///< 48 MiB
  static constexpr std::int64_t kMaxLimitNs = 3'600'000'000'000;

  /// `clock` outlives it.
  explicit Profiler(Clock& clock) : clock_(clock) {}

  /// Whether a profile is recording.
  bool is_on() const { return num_recording_.load(std::memory_order_relaxed) > 0; }
  /// Adds spans of one model to all profiles whose filter accepts it.
  void add(const std::shared_ptr<const terms::ProfiledModel>& model,
           std::span<const EndedSpan> spans);

  /// Records spans that end from now on. Returns a unique id for `stop`.
  /// Fails: kOutOfResources if kMaxProfiles are recording; kInvalid for limits out of range.
  Result<std::uint64_t> start(const ProfileOptions& options);
  /// Ends the profile and returns its spans. Fails: kInvalidHandle.
  Result<terms::Profile> stop(std::uint64_t id);

 private:
  struct Recording {
    ProfileOptions options;
    std::int64_t end_ns = 0;
    bool is_recording = true;
    terms::Profile profile;
    std::size_t next = 0;  ///< index of the oldest span in a full profile
    std::map<std::shared_ptr<const terms::ProfiledModel>, std::uint32_t> models;
    std::unordered_map<std::string, std::uint32_t> names;
  };

  static bool wants(const Recording& recording,
                    const std::shared_ptr<const terms::ProfiledModel>& model);
  static void add_to(Recording& recording, std::uint32_t model, const EndedSpan& ended);
  /// Nothing where there are too many.
  static std::optional<std::uint32_t> index_of(
      Recording& recording, const std::shared_ptr<const terms::ProfiledModel>& model);
  static std::uint32_t name_index(Recording& recording, std::string_view name);
  void end(Recording& recording, std::int64_t end_ns);

  Clock& clock_;
  std::atomic<int> num_recording_ = 0;
  mutable std::mutex mutex_;  ///< guards what follows
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Recording>> recordings_;
};

}  // namespace sluice::runtime
