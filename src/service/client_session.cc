#include "service/client_session.h"

#include <limits>
#include <utility>

#include "base/system/secret.h"
#include "base/text/plural.h"
#include "service/clients/peer.h"

namespace sluice::service {

terms::SessionInfo ClientSession::info(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  terms::SessionInfo info = {id_, client_, peer_};
  info.age_ns = now_ns - opened_ns_;
  info.num_models = static_cast<std::int32_t>(models_.size());
  info.num_groups = static_cast<std::int32_t>(groups_.size());
  info.num_cores = num_cores_;
  info.num_in_flight = requests_->num_in_flight();
  info.num_ring_requests = num_ring_requests_;
  return info;
}

// Callers of check_still_open and check_cores hold mutex_: what they allow is entered under the
// same lock.
Status ClientSession::check_still_open() const {
  if (!is_closed_) return ok_status();
  return terms::runtime_error(RuntimeCode::kCancelled, "session {} is closed",
                              static_cast<std::uint64_t>(id_));
}

Status ClientSession::check_open() const {
  const std::lock_guard lock(mutex_);
  return check_still_open();
}

Status ClientSession::check_cores(std::int32_t more) const {
  // Subtracted, not added: `more` is a client's number and may be near the largest.
  if (more <= quota_.max_cores - num_cores_) return ok_status();
  return terms::runtime_error(RuntimeCode::kOutOfResources,
                              "a session may hold {}; this one has {} and asks for {} more",
                              counted(quota_.max_cores, "core"), num_cores_, more);
}

Status ClientSession::add_model(terms::ModelHandle model, std::int32_t num_cores) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(check_still_open());
  if (models_.size() >= static_cast<std::size_t>(quota_.max_models)) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "a session may hold {}; unload one that is not needed",
                                counted(quota_.max_models, "model"));
  }
  SLUICE_TRY(check_cores(num_cores));
  models_[model] = num_cores;
  num_cores_ += num_cores;
  return ok_status();
}

Status ClientSession::add_group(terms::CoreGroupId group, std::int32_t num_cores) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(check_still_open());
  SLUICE_TRY(check_cores(num_cores));
  groups_[group] = num_cores;
  num_cores_ += num_cores;
  return ok_status();
}

void ClientSession::remove_model(terms::ModelHandle model) {
  const std::lock_guard lock(mutex_);
  const auto it = models_.find(model);
  if (it == models_.end()) return;
  num_cores_ -= it->second;
  models_.erase(it);
}

void ClientSession::remove_group(terms::CoreGroupId group) {
  const std::lock_guard lock(mutex_);
  const auto it = groups_.find(group);
  if (it == groups_.end()) return;
  num_cores_ -= it->second;
  groups_.erase(it);
}

std::int64_t ClientSession::HeldRegion::size_bytes() const {
  return static_cast<std::int64_t>(named ? named->size_bytes : region->size_bytes());
}

/// Requires: mutex_ is held.
Status ClientSession::add(HeldRegion held) {
  SLUICE_TRY(check_still_open());
  if (regions_.size() >= static_cast<std::size_t>(quota_.max_regions)) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "a session may share {}; unregister one that is not needed",
                                counted(quota_.max_regions, "region"));
  }
  // Subtracted, not added: region_bytes_ stays at most max_region_bytes.
  const std::int64_t size_bytes = held.size_bytes();
  if (size_bytes > quota_.max_region_bytes - region_bytes_) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "a session may share {} bytes; this one shares {} and asks for {} more",
        quota_.max_region_bytes, region_bytes_, size_bytes);
  }
  region_bytes_ += size_bytes;
  const std::uint64_t handle = held.handle;
  regions_[handle] = std::move(held);
  return ok_status();
}

Status ClientSession::add_region(std::uint64_t handle, std::shared_ptr<shm::Region> region) {
  const std::lock_guard lock(mutex_);
  return add({handle, std::move(region), nullptr, std::nullopt});
}

Status ClientSession::add_named(std::uint64_t handle, std::shared_ptr<shm::Region> region,
                                terms::NamedRegion named) {
  const std::lock_guard lock(mutex_);
  for (const auto& [other, held] : regions_) {
    if (!held.named || held.named->name != named.name) continue;
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "a region \"{}\" is registered already; unregister it first",
                                named.name);
  }
  return add({handle, std::move(region), nullptr, std::move(named)});
}

ClientSession::HeldRegion ClientSession::find_named(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, held] : regions_) {
    if (held.named && held.named->name == name) return held;
  }
  return {};
}

Status ClientSession::set_ring(std::uint64_t handle, std::function<void()> stop_ring) {
  const std::lock_guard lock(mutex_);
  const auto it = regions_.find(handle);
  if (it == regions_.end()) {
    return terms::runtime_error(RuntimeCode::kCancelled, "region {} was taken away meanwhile",
                                handle);
  }
  // The region exists before its ring, so an unregistration may have come between.
  it->second.stop_ring = std::move(stop_ring);
  return ok_status();
}

std::shared_ptr<const shm::Region> ClientSession::find_region(std::uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto it = regions_.find(handle);
  return it == regions_.end() ? nullptr : it->second.region;
}

ClientSession::HeldRegion ClientSession::remove_region(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto it = regions_.find(handle);
  if (it == regions_.end()) return {};
  // Returned, not destroyed here: stop_ring joins a thread that may wait for mutex_.
  HeldRegion held = std::move(it->second);
  region_bytes_ -= held.size_bytes();
  regions_.erase(it);
  return held;
}

std::vector<ClientSession::HeldRegion> ClientSession::list_regions() const {
  const std::lock_guard lock(mutex_);
  std::vector<HeldRegion> all;
  for (const auto& [handle, held] : regions_) all.push_back(held);
  return all;
}

Result<ClientSession::Load> ClientSession::enter_load() {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(check_still_open());
  ++num_loads_;
  return Load(this);
}

void ClientSession::leave_load() {
  const std::lock_guard lock(mutex_);
  if (--num_loads_ == 0) no_loads_.notify_all();
}

void ClientSession::wait_for_loads() {
  std::unique_lock lock(mutex_);
  no_loads_.wait(lock, [this] { return num_loads_ == 0; });
}

bool ClientSession::on_close(std::function<void(const Status&)> listener) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  listener_ = std::move(listener);
  return true;
}

ClientSession::Holdings ClientSession::close(const Status& reason) {
  std::function<void(const Status&)> listener;
  Holdings holdings;
  Status closed;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    // The listener and the stop callbacks run after the lock: they end streams, whose handlers ask
    // this session again.
    listener = std::exchange(listener_, nullptr);
    for (const auto& [model, cores] : models_) holdings.models.push_back(model);
    for (const auto& [group, cores] : groups_) holdings.groups.push_back(group);
    for (auto& [handle, held] : regions_) holdings.regions.push_back(std::move(held));
    models_.clear();
    groups_.clear();
    regions_.clear();
    region_bytes_ = 0;
    num_cores_ = 0;
    // From here on no request of the session starts; those in flight are cancelled by stop_.
    closed = check_still_open();
    requests_->close(closed);
  }
  stop_.request_stop();
  posted_->close(closed);
  if (listener) listener(reason);
  return holdings;
}

Result<std::shared_ptr<ClientSession>> SessionTable::open(std::string client, terms::Peer peer,
                                                          std::int64_t now_ns) {
  // Before the lock: the system may be slow to give random bytes.
  std::string token = SLUICE_TRY(make_secret());
  const std::lock_guard lock(mutex_);
  if (is_closed_) return make_error(Code::kUnavailable, "the daemon is shutting down");
  const std::string account = account_of(peer);
  SLUICE_TRY(check_room(account));
  const terms::SessionId id{next_id_++};
  auto session =
      std::make_shared<ClientSession>(id, std::move(client), std::move(peer), std::move(token),
                                      now_ns, quota_, memory_.of(account));
  by_id_[id] = session;
  ++num_of_account_[account];
  by_token_[session->token()] = id;
  return session;
}

Status SessionTable::check_room(const std::string& account) const {
  if (by_id_.size() >= most_) {
    return terms::runtime_error(RuntimeCode::kOutOfResources,
                                "{} sessions are open, the most there may be", most_);
  }
  const auto it = num_of_account_.find(account);
  if (it == num_of_account_.end() || it->second < quota_.max_sessions) return ok_status();
  return terms::runtime_error(RuntimeCode::kOutOfResources, "{} has {} open, the most it may have",
                              account, counted(it->second, "session"));
}

std::shared_ptr<ClientSession> SessionTable::find(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_token_.find(token);
  return it == by_token_.end() ? nullptr : by_id_.at(it->second);
}

std::shared_ptr<ClientSession> SessionTable::find(terms::SessionId id) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

bool SessionTable::remove(terms::SessionId id) {
  const std::lock_guard lock(mutex_);
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return false;
  by_token_.erase(it->second->token());
  const auto count = num_of_account_.find(account_of(it->second->peer()));
  // Accounts that are gone leave no entry: a client with ever new tokens would let the map grow.
  if (--count->second == 0) num_of_account_.erase(count);
  by_id_.erase(it);
  return true;
}

std::vector<std::shared_ptr<ClientSession>> SessionTable::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ClientSession>> sessions;
  for (const auto& [id, session] : by_id_) sessions.push_back(session);
  return sessions;
}

void SessionTable::set_quota(const SessionQuota& quota) {
  const std::lock_guard lock(mutex_);
  quota_ = quota;
}

void SessionTable::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
}

std::shared_ptr<ClientSession> CommonHoldings::of(const std::string& account) {
  return find(account, quota_);
}

std::shared_ptr<ClientSession> CommonHoldings::of_daemon() {
  SessionQuota unlimited;
  unlimited.max_models = unlimited.max_cores = std::numeric_limits<std::int32_t>::max();
  return find("", unlimited);  // no peer has this account
}

std::shared_ptr<ClientSession> CommonHoldings::find(const std::string& account,
                                                    const SessionQuota& quota) {
  constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 63;  // sessions count from below
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ClientSession>& found = by_account_[account];
  if (found == nullptr) {
    found = std::make_shared<ClientSession>(terms::kNobody, "", terms::Peer{}, "", started_ns_,
                                            quota, memory_.of(account));
    found->set_owner(sandbox::OwnerId{kFirstOwner + by_account_.size()});
    on_new_(*found);
  }
  return found;
}

void CommonHoldings::remove_model(terms::ModelHandle model) {
  const std::lock_guard lock(mutex_);
  // Lock order: mutex_ of this table, then that of a session; a session takes no lock of the table.
  for (const auto& [account, session] : by_account_) session->remove_model(model);
}

void CommonHoldings::remove_group(terms::CoreGroupId group) {
  const std::lock_guard lock(mutex_);
  for (const auto& [account, session] : by_account_) session->remove_group(group);
}

}  // namespace sluice::service
