// The part of Service that takes profiles.
#include "base/process/with_lock.h"
#include "runtime/engine.h"
#include "service/service.h"
#include "worker/pool.h"

namespace sluice::service {

Result<std::uint64_t> Service::start_profile(const Caller& caller,
                                             const terms::ProfileSettings& settings) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  const terms::SessionId session = caller.session->id();
  terms::ProfileSettings own = settings;
  if (workers_ != nullptr && settings.model) {
    const auto info = workers_->info(*settings.model);
    // The engine knows the group, and has no model in it.
    if (info.is_ok()) own = {info->group, std::nullopt, settings.limit_ns, settings.max_spans};
  }
  std::uint64_t profile = 0;
  {
    const std::unique_lock lock(owners_mutex_);
    profile = SLUICE_TRY(engine_.start_profile(own));
    profile_owners_[profile] = {session, account_of(caller.peer)};
  }
  if (workers_ != nullptr) workers_->start_profile(profile, settings);
  if (session != terms::kNobody &&
      sessions_.find(session) == nullptr) {  // reclaim may have come before us
    drop_profiles(session);
    if (workers_ != nullptr) workers_->stop_profile(profile, false);
    return terms::runtime_error(RuntimeCode::kCancelled, "session {} is closed",
                                static_cast<std::uint64_t>(session));
  }
  log_.add(LogLevel::kInfo, "profile.start profile={} session={}", profile,
           static_cast<std::uint64_t>(session));
  return profile;
}

Result<terms::Profile> Service::stop_profile(const Caller& caller, std::uint64_t profile) {
  SLUICE_TRY(check_control(profile_owners_, profile, caller, "profile"));
  auto taken = SLUICE_TRY(engine_.stop_profile(profile));
  if (workers_ != nullptr) {
    for (terms::Profile& part : workers_->stop_profile(profile)) {
      append(taken, std::move(part));
    }
  }
  with_lock(owners_mutex_, [&] { profile_owners_.erase(profile); });
  log_.add(LogLevel::kInfo, "profile.stop profile={} spans={} dropped={}", profile,
           taken.spans.size(), taken.num_dropped);
  return taken;
}

void Service::drop_profiles(terms::SessionId session) {
  std::vector<std::uint64_t> dropped;
  {
    const std::unique_lock lock(owners_mutex_);
    std::erase_if(profile_owners_, [&](const auto& entry) {
      if (entry.second.session != session) return false;
      dropped.push_back(entry.first);
      return true;
    });
  }
  for (const std::uint64_t profile : dropped) {
    (void)engine_.stop_profile(profile);  // its owner may fetch it concurrently
    if (workers_ != nullptr) workers_->stop_profile(profile, false);
  }
}

}  // namespace sluice::service
