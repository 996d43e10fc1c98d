// Records profiles: several at a time, each in memory of a fixed size.
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
#include "runtime/profile/profile.h"

namespace sluice::runtime {

struct ProfileOptions {
  /// Only what runs on this group, or only this model; neither: everything.
  std::optional<std::uint64_t> group;
  std::shared_ptr<const ProfiledModel> model;
  /// Recording ends by itself after so long; what was recorded waits for `stop`.
  std::int64_t limit_ns = 600'000'000'000;
  /// When it is full, the newest spans take the places of the oldest.
  std::int64_t max_spans = std::int64_t{1} << 18;
};

/// A span that has ended, before anybody wants it.
struct EndedSpan {
  SpanKind kind = SpanKind::kRequest;
  std::uint32_t lane = 0;
  std::uint64_t request = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  RuntimeCode code = RuntimeCode::kOk;
  std::string_view name = {};  ///< of an operation
};

/// Safe across threads. While nobody records, whoever could tell something pays one relaxed load.
///
///     start --> recording --limit--> ended --stop--> gone
///                   +---------stop------------------->
class Profiler {
 public:
  static constexpr std::size_t kMostProfiles = 4;
  static constexpr std::int64_t kMostSpans = std::int64_t{1} << 20;  ///< 48 MiB
  static constexpr std::int64_t kMostLimitNs = 3'600'000'000'000;

  /// `clock` outlives it.
  explicit Profiler(Clock& clock) : clock_(clock) {}

  /// Whether a span may be wanted.
  bool is_on() const { return num_recording_.load(std::memory_order_relaxed) > 0; }
  /// Spans of one model, which all profiles that want them get.
  void add(const std::shared_ptr<const ProfiledModel>& model, std::span<const EndedSpan> spans);

  /// An id for `stop`, never given twice. Spans that end from now on are recorded.
  /// Fails: kOutOfResources where there are kMostProfiles; kInvalid for limits that cannot be.
  Result<std::uint64_t> start(const ProfileOptions& options);
  /// Ends the profile and gives what it has. Fails: kInvalidHandle.
  Result<Profile> stop(std::uint64_t id);

 private:
  struct Recording {
    ProfileOptions options;
    std::int64_t end_ns = 0;
    bool is_recording = true;
    Profile profile;
    std::size_t next = 0;  ///< the oldest span, where all places are taken
    std::map<std::shared_ptr<const ProfiledModel>, std::uint32_t> models;
    std::unordered_map<std::string, std::uint32_t> names;
  };

  static bool wants(const Recording& recording, const std::shared_ptr<const ProfiledModel>& model);
  static void add_to(Recording& recording, std::uint32_t model, const EndedSpan& ended);
  /// Nothing where there are too many.
  static std::optional<std::uint32_t> index_of(Recording& recording,
                                               const std::shared_ptr<const ProfiledModel>& model);
  static std::uint32_t name_index(Recording& recording, std::string_view name);
  void end(Recording& recording, std::int64_t end_ns);

  Clock& clock_;
  std::atomic<int> num_recording_ = 0;
  mutable std::mutex mutex_;  ///< guards what follows
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Recording>> recordings_;
};

}  // namespace sluice::runtime
