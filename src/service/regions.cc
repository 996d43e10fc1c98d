// The part of Service that is about shared memory.
#include <optional>
#include <utility>

#include "service/ring_thread.h"
#include "service/service.h"

namespace sluice::service {

namespace {

Status coded(const Status& status) {
  const bool is_scarce = status.code() == Code::kResourceExhausted;
  return terms::with_runtime_code(status,
                                  is_scarce ? RuntimeCode::kOutOfResources : RuntimeCode::kInvalid);
}

terms::RegionInfo info_of(const ClientSession::HeldRegion& held) {
  return {held.handle, held.region->name(), static_cast<std::int64_t>(held.region->size_bytes()),
          held.stop_ring != nullptr};
}

/// "127.0.0.1:5000", "[::1]:5000", "[::ffff:127.0.0.1]:5000".
bool is_on_loopback(const terms::Peer& peer) {
  const std::string_view address = peer.address;
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("[::ffff:127.");
}

/// The owner whose memory a user of the Unix socket may open: itself; nullopt, any, for root.
std::optional<std::int64_t> owner_for(const terms::Peer& peer) {
  return peer.user == 0 ? std::nullopt : std::optional(peer.user);
}

/// Clients of other servers write the name of a shared memory with and without its slash.
std::string with_slash(std::string_view key) {
  return key.starts_with('/') ? std::string(key) : fmt::format("/{}", key);
}

Status check_part(const terms::NamedRegion& wanted) {
  constexpr std::size_t kMaxNameBytes = 256;
  if (wanted.name.empty() || wanted.name.size() > kMaxNameBytes) {
    return terms::runtime_error(RuntimeCode::kInvalid, "a region's name has 1 to {} bytes, not {}",
                                kMaxNameBytes, wanted.name.size());
  }
  if (wanted.size_bytes > 0) return ok_status();
  return terms::runtime_error(RuntimeCode::kInvalid, "region \"{}\" has no bytes", wanted.name);
}

}  // namespace

Result<std::uint64_t> Service::add_region(const Caller& caller,
                                          std::shared_ptr<shm::Region> region) {
  SLUICE_TRY(check_ready());
  if (caller.session->id() == terms::kNobody) {
    return terms::runtime_error(RuntimeCode::kFailed,
                                "shared memory belongs to a session; open one and send its token");
  }
  const std::uint64_t handle = next_region_++;
  const auto size_bytes = region->size_bytes();
  SLUICE_TRY(caller.session->add_region(handle, std::move(region)));
  log_.add(LogLevel::kDebug, "region.register region={} bytes={} session={}", handle, size_bytes,
           static_cast<std::uint64_t>(caller.session->id()));
  return handle;
}

Result<std::uint64_t> Service::register_memory(const Caller& caller, int fd,
                                               std::uint64_t size_bytes) {
  auto region = shm::Region::adopt(fd, size_bytes);
  if (!region.is_ok()) return coded(region.status());
  return add_region(caller, std::move(*region));
}

Result<std::uint64_t> Service::register_ring(const Caller& caller, int fd,
                                             std::uint64_t size_bytes) {
  auto region = shm::Region::adopt(fd, size_bytes);
  if (!region.is_ok()) return coded(region.status());
  auto ring = shm::RingServer::create((*region)->mapped());
  if (!ring.is_ok()) return coded(ring.status());
  const auto thread = SLUICE_TRY(RingThread::start(*this, caller, *region, std::move(*ring)));
  const auto handle = add_region(caller, std::move(*region));
  Status status = handle.status();
  if (status.is_ok()) status = caller.session->set_ring(*handle, [thread] { thread->stop(); });
  if (status.is_ok()) return *handle;
  thread->stop();
  return status;
}

Result<terms::RegionInfo> Service::register_name(const Caller& caller, const std::string& name) {
  if (caller.peer.user < 0) {
    return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  "memory is shared over a Unix socket only: connect over unix:/PATH");
  }
  auto region = shm::Region::open(name, owner_for(caller.peer));
  if (!region.is_ok()) return coded(region.status());
  const auto size_bytes = static_cast<std::int64_t>((*region)->size_bytes());
  return terms::RegionInfo{SLUICE_TRY(add_region(caller, std::move(*region))), name, size_bytes,
                           false};
}

Status Service::unregister_region(const Caller& caller, std::uint64_t handle) {
  const ClientSession::HeldRegion held = caller.session->remove_region(handle);
  if (held.region == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "this session has no region {}",
                                handle);
  }
  if (held.stop_ring) held.stop_ring();
  log_.add(LogLevel::kDebug, "region.unregister region={} session={}", handle,
           static_cast<std::uint64_t>(caller.session->id()));
  return ok_status();
}

std::vector<terms::RegionInfo> Service::list_regions(const Caller& caller) const {
  std::vector<terms::RegionInfo> infos;
  for (const ClientSession::HeldRegion& held : caller.session->list_regions()) {
    infos.push_back(info_of(held));
  }
  return infos;
}

Status Service::register_part(const Caller& caller, const terms::NamedRegion& wanted) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(check_part(wanted));
  // Every account can be a loopback client. A setting that names root gives it root's own memory,
  // and not root's right to open any.
  auto owner = std::optional(is_on_loopback(caller.peer) ? options().loopback_user : -1);
  if (caller.peer.is_local()) owner = owner_for(caller.peer);
  if (owner && *owner < 0) {
    return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                  "shared memory is of a user of this machine: connect over a Unix socket, or, on "
                  "loopback, have the daemon's setting loopback_user name one");
  }
  auto region = shm::Region::open(with_slash(wanted.key), owner);
  if (!region.is_ok()) return coded(region.status());
  if (const Status inside = (*region)->check_inside(wanted.offset, wanted.size_bytes);
      !inside.is_ok()) {
    return terms::runtime_error(RuntimeCode::kInvalid, "region \"{}\": {}", wanted.name,
                                inside.message());
  }
  const std::uint64_t handle = next_region_++;
  SLUICE_TRY(caller.session->add_named(handle, std::move(*region), wanted));
  log_.add(LogLevel::kDebug, "region.register region={} bytes={} session={}", handle,
           wanted.size_bytes, static_cast<std::uint64_t>(caller.session->id()));
  return ok_status();
}

void Service::unregister_parts(const Caller& caller, std::string_view name) {
  for (const ClientSession::HeldRegion& held : caller.session->list_regions()) {
    if (held.named && (name.empty() || held.named->name == name)) {
      static_cast<void>(caller.session->remove_region(held.handle));
    }
  }
}

Result<std::vector<terms::NamedRegion>> Service::list_parts(const Caller& caller,
                                                            std::string_view name) const {
  std::vector<terms::NamedRegion> parts;
  for (const ClientSession::HeldRegion& held : caller.session->list_regions()) {
    if (held.named && (name.empty() || held.named->name == name)) parts.push_back(*held.named);
  }
  if (!parts.empty() || name.empty()) return parts;
  return terms::runtime_error(RuntimeCode::kInvalidHandle, "no region \"{}\" is registered",
                              name.substr(0, 200));
}

}  // namespace sluice::service
