// The part of the service about tensors that stay between requests, and those of other hosts.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/system/aligned_memory.h"
#include "dispatch/turn.h"
#include "runtime/engine.h"
#include "service/region_slices.h"
#include "service/service.h"

namespace sluice::service {

namespace {

/// Each has a thread of the daemon's calls until it ends.
constexpr int kMaxPulls = 8;

Bytes bytes_of(const terms::OutputTensor& tensor) {
  return Bytes(tensor.owner, {static_cast<const std::byte*>(tensor.view.data),
                              static_cast<std::size_t>(tensor.view.size_bytes)});
}

}  // namespace

Result<terms::TensorIndex> Service::put_tensor(const Caller& caller, const terms::TensorView& view,
                                               std::int64_t ttl_ns) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(exchange_.check_ttl(ttl_ns));
  // Before there is memory for it.
  auto room = SLUICE_TRY(exchange_.reserve(caller.session->owner(), view.size_bytes));
  auto memory = allocate_aligned(static_cast<std::uint64_t>(view.size_bytes));
  if (memory == nullptr) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory for a tensor of {} bytes",
                                view.size_bytes);
  }
  if (view.size_bytes > 0) {
    std::memcpy(memory.get(), view.data, static_cast<std::size_t>(view.size_bytes));
  }
  terms::OutputTensor tensor = {view, memory};
  tensor.view.data = memory.get();
  return exchange_.put(caller.session->owner(), std::move(tensor), std::move(room), ttl_ns);
}

Result<std::optional<terms::DeviceId>> Service::bring_tensor(const Caller& caller,
                                                             terms::TensorIndex index,
                                                             terms::DeviceId device) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
  const sandbox::OwnerId owner = caller.session->owner();
  const auto lease = SLUICE_TRY(exchange_.find(owner, index));
  const terms::TensorView& view = lease->view;
  if (view.element == ir::ElementType::kString) {
    return terms::runtime_error(RuntimeCode::kInvalid, "strings stay in the host's memory");
  }
  auto brought = SLUICE_TRY(
      engine_.bring(bytes_of(*lease), device,
                    lease->left == nullptr ? std::function<Status()>() : lease->left->fetch));
  SLUICE_TRY(exchange_.keep_copy(owner, index, std::move(brought.copy)));
  log_.add(LogLevel::kInfo, "exchange.bring exchange={} bytes={} device={} from={} by={}",
           static_cast<std::uint64_t>(index), view.size_bytes, device.value(),
           brought.from ? fmt::format("device {}", brought.from->value()) : "host",
           in_quotes(account_of(caller.peer)));
  return brought.from;
}

std::shared_ptr<const void> Service::bring_by_link(const terms::OutputTensor& tensor,
                                                   const void* device) {
  return engine_.bring_by_link(bytes_of(tensor), device);
}

Result<std::string> Service::offer_tensor(const Caller& caller, terms::TensorIndex index) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  if (options().exchange_peers.empty()) {
    return terms::runtime_error(
        RuntimeCode::kFailed,
        "no other daemon may fetch tensors of this one (exchange_listen and "
        "exchange_peers in its settings)");
  }
  std::string key = SLUICE_TRY(exchange_.offer(caller.session->owner(), index));
  log_.add(LogLevel::kInfo, "exchange.offer exchange={} by={}", static_cast<std::uint64_t>(index),
           in_quotes(account_of(caller.peer)));
  return key;
}

Result<sandbox::ExchangeTable::Lease> Service::get_offered(const terms::Peer& peer,
                                                           terms::TensorIndex index,
                                                           std::string_view key) const {
  SLUICE_TRY(authorize(peer, terms::Role::kFetch));
  SLUICE_TRY(check_ready());
  return exchange_.get_offered(index, key);
}

Status Service::check_source(const std::string& address) const {
  const std::vector<std::string> sources = options().exchange_sources;
  if (fetch_ && std::ranges::find(sources, address) != sources.end()) return ok_status();
  return Status(Code::kPermissionDenied, static_cast<std::int32_t>(RuntimeCode::kInvalid),
                fmt::format("this daemon fetches no tensors from {} (exchange_sources in its "
                            "settings)",
                            in_quotes(address)));
}

Result<terms::PulledTensor> Service::pull_tensor(const Caller& caller,
                                                 const terms::OfferedTensor& wanted,
                                                 std::int64_t ttl_ns, std::stop_source stop) {
  SLUICE_TRY(check_ready());
  SLUICE_TRY(check_session(caller));
  SLUICE_TRY(check_source(wanted.address));
  SLUICE_TRY(exchange_.check_ttl(ttl_ns));  // before the bytes are on their way
  const dispatch::Turn turn(num_pulls_, kMaxPulls);
  if (!turn.is_free()) {
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "{} tensors are being fetched from other hosts; try again when one has "
        "come",
        kMaxPulls);
  }
  const ClientSession::Load load = SLUICE_TRY(caller.session->enter_load());
  // Three can end the fetch: the call, its session and the daemon.
  const auto end = [&] { stop.request_stop(); };
  const std::stop_callback with_session(caller.session->stop_token(), end);
  const std::stop_callback with_daemon(stop_pulls_.get_token(), end);
  sandbox::ExchangeTable::Room room;
  // The other daemon says the size before the bytes come.
  const auto take_room = [&](std::int64_t bytes) -> Status {
    room = SLUICE_TRY(exchange_.reserve(caller.session->owner(), bytes));
    return ok_status();
  };
  terms::OutputTensor tensor = SLUICE_TRY(fetch_(wanted, take_room, stop.get_token()));
  terms::PulledTensor pulled = {{}, tensor.view};
  pulled.view.data = nullptr;
  pulled.index = SLUICE_TRY(
      exchange_.put(caller.session->owner(), std::move(tensor), std::move(room), ttl_ns));
  log_.add(LogLevel::kInfo, "exchange.pull from={} bytes={} exchange={} by={}",
           in_quotes(wanted.address), pulled.view.size_bytes,
           static_cast<std::uint64_t>(pulled.index), in_quotes(account_of(caller.peer)));
  return pulled;
}

}  // namespace sluice::service
