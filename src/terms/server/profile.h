// The data of a profile: time spans of requests, stages and operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "terms/group.h"
#include "terms/model.h"
#include "terms/tensors/stage.h"

namespace sluice::terms {

/// The filter and limits of a profile. Neither group nor model: everything.
struct ProfileSettings {
  std::optional<CoreGroupId> group;
  std::optional<ModelHandle> model;
  std::int64_t limit_ns = 600'000'000'000;         ///< of the recording
  std::int64_t max_spans = std::int64_t{1} << 18;  ///< new spans replace the oldest
};

enum class SpanKind : std::uint8_t {
  kRequest,    ///< from submission to answer
  kQueue,      ///< from submission to the first stage
  kCopyIn,     ///< to the device's memory
  kCompute,    ///< one segment, or the whole model if its shapes are dynamic
  kCopyOut,    ///< to the host's memory
  kOperation,  ///< within a kCompute of the same request and lane
};

/// The span of a stage.
inline SpanKind span_kind(StageKind stage) {
  switch (stage) {
    case StageKind::kCopyIn: return SpanKind::kCopyIn;
    case StageKind::kCopyOut: return SpanKind::kCopyOut;
    case StageKind::kCompute: break;
  }
  return SpanKind::kCompute;
}

/// A model in a profile. Immutable.
struct ProfiledModel {
  /// A lane of the model's pipeline.
  struct Lane {
    StageKind kind = StageKind::kCompute;
    std::vector<CoreRef> cores;  ///< empty for copies, and for segments on the host's processors
  };

  std::string name;
  std::uint64_t group = 0;  ///< handle of the core group
  std::vector<Lane> lanes;
};

struct ProfileSpan {
  SpanKind kind = SpanKind::kRequest;
  std::uint32_t model = 0;    ///< index in Profile::models
  std::uint32_t lane = 0;     ///< of the model; 0 for requests and queues
  std::uint32_t name = 0;     ///< of an operation: index in Profile::names
  std::uint64_t request = 0;  ///< number of the request within the model
  std::int64_t start_ns = 0;  ///< on the engine's clock
  std::int64_t duration_ns = 0;
  RuntimeCode code = RuntimeCode::kOk;  ///< of a request: its result
};

struct Profile {
  std::vector<ProfiledModel> models;
  std::vector<std::string> names;
  std::vector<ProfileSpan> spans;  ///< in the order of their ends
  std::int64_t num_dropped = 0;    ///< older spans, replaced by these
  std::int64_t start_ns = 0;       ///< on the engine's clock
  std::int64_t duration_ns = 0;    ///< of the recording
};

/// Hands out the lists of a profile part by part, for messages of limited size.
class ProfileCursor {
 public:
  explicit ProfileCursor(Profile profile) : profile_(std::move(profile)) {}
  const Profile& profile() const { return profile_; }
  /// The next ones, at most so many; none at the end. Valid as long as the cursor.
  std::span<const ProfiledModel> models(std::size_t most) {
    return next(profile_.models, num_models_, most);
  }
  std::span<const std::string> names(std::size_t most) {
    return next(profile_.names, num_names_, most);
  }
  std::span<const ProfileSpan> spans(std::size_t most) {
    return next(profile_.spans, num_spans_, most);
  }
  bool is_at_end() const {
    return num_models_ == profile_.models.size() && num_names_ == profile_.names.size() &&
           num_spans_ == profile_.spans.size();
  }

 private:
  template <typename T>
  static std::span<const T> next(const std::vector<T>& all, std::size_t& begin, std::size_t most) {
    const std::size_t first = std::exchange(begin, std::min(begin + most, all.size()));
    return std::span(all).subspan(first, begin - first);
  }

  Profile profile_;
  std::size_t num_models_ = 0;  ///< that were handed out, as the two below
  std::size_t num_names_ = 0;
  std::size_t num_spans_ = 0;
};

/// Adds the models and spans of another process that has the same clock.
void append(Profile& all, Profile more);

}  // namespace sluice::terms
