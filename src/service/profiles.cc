// The part of Service that takes profiles.
#include "service/service.h"

namespace sluice::service {

using runtime::RuntimeCode;

Result<std::uint64_t> Service::start_profile(const Caller& caller,
                                             const runtime::ProfileWish& wish) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  const SessionId session = caller.session->id();
  std::uint64_t profile = 0;
  {
    const std::unique_lock lock(owners_mutex_);
    profile = SLUICE_TRY(engine_.start_profile(wish));
    profile_owners_[profile] = {session, account_of(caller.peer)};
  }
  if (session != kNobody &&
      sessions_.find(session) == nullptr) {  // reclaim may have come before us
    drop_profiles(session);
    return runtime_error(RuntimeCode::kCancelled, "session {} is closed",
                         static_cast<std::uint64_t>(session));
  }
  log_.add(LogLevel::kInfo, "profile.start profile={} session={}", profile,
           static_cast<std::uint64_t>(session));
  return profile;
}

Result<runtime::Profile> Service::stop_profile(const Caller& caller, std::uint64_t profile) {
  SLUICE_TRY(check_control(profile_owners_, profile, caller, "profile"));
  auto taken = SLUICE_TRY(engine_.stop_profile(profile));
  {
    const std::unique_lock lock(owners_mutex_);
    profile_owners_.erase(profile);
  }
  log_.add(LogLevel::kInfo, "profile.stop profile={} spans={} dropped={}", profile,
           taken.spans.size(), taken.num_dropped);
  return taken;
}

void Service::drop_profiles(SessionId session) {
  const std::unique_lock lock(owners_mutex_);
  for (auto it = profile_owners_.begin(); it != profile_owners_.end();) {
    if (it->second.session != session) {
      ++it;
      continue;
    }
    const auto dropped = engine_.stop_profile(it->first);
    (void)dropped;  // its owner may fetch it concurrently
    it = profile_owners_.erase(it);
  }
}

}  // namespace sluice::service
