// Profiles as messages and back.
#pragma once

#include "proto/sluice/v1/profile.pb.h"
#include "terms/server/profile.h"

namespace sluice::rpc::wire {

/// Fails: kInvalid for a group's handle that cannot be. Limits are the profiler's to check.
Result<terms::ProfileSettings> from_proto(const v1::StartProfileRequest& from);
void to_proto(const terms::ProfileSettings& from, v1::StartProfileRequest& to);

/// A profile in parts of at most some hundred KB.
class ProfileParts {
 public:
  explicit ProfileParts(terms::Profile profile) : cursor_(std::move(profile)) {}

  /// The next part into an empty message; false if there is no more.
  bool next(v1::StopProfileResponse& part);

 private:
  terms::ProfileCursor cursor_;
  bool has_begun_ = false;
};

/// Adds a part to the earlier parts. Fails: kDataLoss for an unknown kind.
Status add_part(const v1::StopProfileResponse& part, terms::Profile& profile);
/// Once all parts are there: every index leads somewhere. Fails: kDataLoss.
Status check_profile(const terms::Profile& profile);

}  // namespace sluice::rpc::wire
