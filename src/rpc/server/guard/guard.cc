#include "rpc/server/guard/guard.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/process/start_thread.h"
#include "rpc/server/listen/late_numbers.h"
#include "rpc/wire/times.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

/// How often held connections are looked at.
constexpr int kHeldMs = 50;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr Rate kWarnings = {.burst = 20, .per_second = 1};
/// Connections that gRPC has yet to begin with or to end. It takes a millisecond for one; without a
/// limit a client that comes and goes makes it fall behind, at 20 KB each.
constexpr int kMaxWorkForGrpc = 64;
constexpr std::int64_t kStopNs = 500'000'000;
/// Buffer of a connection between guard and gRPC, each way.
constexpr int kSocketBytes = 128 << 10;

/// Edges: a pump goes on until nothing moves.
constexpr std::uint32_t kClientEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
/// A Unix socket tells of room whenever its other end has read, so a thread that asks for that
/// would wake once more for each request.
constexpr std::uint32_t kInnerEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

/// OpenSSL writes without MSG_NOSIGNAL.
void block_sigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Guard::Guard(HandOver hand_over, service::Log& log, const http2::FrameLimits& limits)
    : hand_over_(std::move(hand_over)),
      log_(log),
      limits_(limits),
      warnings_(kWarnings, system_clock().now_ns()) {}

Result<std::unique_ptr<Guard>> Guard::create(HandOver hand_over, service::Log& log,
                                             const http2::FrameLimits& limits,
                                             std::size_t relay_bytes) {
  std::unique_ptr<Guard> guard(new Guard(std::move(hand_over), log, limits));
  guard->epoll_ = shm::Fd(epoll_create1(EPOLL_CLOEXEC));
  guard->wake_ = shm::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const bool is_whole = guard->epoll_.is_valid() && guard->wake_.is_valid();
  if (!is_whole || !guard->watch(guard->wake_.get(), 0, EPOLLIN)) {
    return make_error(Code::kResourceExhausted, "no descriptor left to guard connections");
  }
  guard->scratch_.resize(relay_bytes);
  guard->thread_ = SLUICE_TRY(start_thread([raw = guard.get()] { raw->loop(); }));
  return guard;
}

void Guard::add(std::unique_ptr<Transport> client, terms::Peer peer, std::string host) {
  if (client == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    Relay relay(std::move(client), std::move(peer), limits_, system_clock().now_ns());
    arrived_.push_back({std::move(relay), std::move(host)});
  }
  wake();
}

void Guard::say_goodbye() {
  {
    const std::lock_guard lock(mutex_);
    wants_goodbyes_ = true;
  }
  wake();
}

void Guard::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

void Guard::wake() const {
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_.get(), &one, sizeof(one));
  (void)written;  // full: it is awake already
}

void Guard::loop() {
  block_sigpipe();
  std::int64_t looked_ns = system_clock().now_ns();
  std::int64_t released_ns = looked_ns;
  std::int64_t stop_ns = 0;
  while (true) {
    wait(stop_ns != 0 ? 10 : held_.empty() ? wire::kStillMs : kHeldMs);
    take_arrived();
    send_goodbyes();
    pump_ready();
    give_turns();
    // More to move at once is a large message or a flood. Whoever waits for this processor goes
    // first; otherwise the thread keeps it for a slice of the scheduler, some milliseconds.
    if (!ready_.empty()) sched_yield();
    const std::int64_t now_ns = system_clock().now_ns();
    if (now_ns - released_ns >= kHeldMs * kNsPerMs) {
      released_ns = now_ns;
      release_held(now_ns);
    }
    if (now_ns - looked_ns >= wire::kStillMs * kNsPerMs) {
      looked_ns = now_ns;
      end_slow(now_ns);
    }
    const std::lock_guard lock(mutex_);
    if (!is_stopping_) continue;
    if (stop_ns == 0) stop_ns = now_ns + kStopNs;
    std::erase_if(relays_, [](const auto& one) { return one.second.relay.inner_fd() < 0; });
    if (relays_.empty() || now_ns >= stop_ns) break;
  }
  relays_.clear();
}

void Guard::wait(int timeout_ms) {
  std::array<epoll_event, 64> events = {};
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               ready_.empty() ? timeout_ms : 0);
  for (int i = 0; i < count; ++i) take_event(events[static_cast<std::size_t>(i)]);
}

/// Only the end of a held connection counts. A flood's clients give up soon.
void Guard::take_event(const epoll_event& event) {
  const auto it = relays_.find(event.data.u64);
  if (it == relays_.end() || !it->second.is_held) return set_ready(event.data.u64);
  if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) end(it->first, ok_status());
}

void Guard::set_ready(Id id) {
  const auto it = relays_.find(id);
  if (it == relays_.end() || it->second.is_ready) return;  // the wake-up, or ended meanwhile
  it->second.is_ready = true;
  ready_.push_back(id);
}

void Guard::take_arrived() {
  std::uint64_t count = 0;
  const ssize_t size = read(wake_.get(), &count, sizeof(count));
  (void)size;  // nothing there: it was a connection, or time
  std::vector<Entry> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (Entry& one : arrived) {
    const Id id = next_id_++;
    const int fd = one.relay.client_fd();
    one.is_held = offenders_.contains(one.host);
    const bool is_held = one.is_held;
    relays_.emplace(id, std::move(one));
    if (!watch(fd, id, kClientEvents)) {
      end(id, make_error(Code::kResourceExhausted, "epoll: {}", std::strerror(errno)));
    } else if (is_held) {
      held_.push_back(id);
    } else {
      set_ready(id);
    }
  }
}

void Guard::send_goodbyes() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(wants_goodbyes_, false)) return;
  }
  for (auto& [id, entry] : relays_) {
    entry.relay.say_goodbye();
    if (!entry.is_held) set_ready(id);
  }
}

/// Those that Offenders admits now; forgets those that ended meanwhile. The newest comes first: a
/// flood's clients give up within moments, and a connection full of unread bytes does not tell it.
void Guard::release_held(std::int64_t now_ns) {
  std::vector<Id> left;
  for (auto id = held_.rbegin(); id != held_.rend(); ++id) {
    const auto it = relays_.find(*id);
    if (it == relays_.end()) continue;
    if (!offenders_.admit(it->second.host, now_ns)) {
      left.push_back(*id);
      continue;
    }
    it->second.is_held = false;
    set_ready(*id);
  }
  held_.assign(left.rbegin(), left.rend());
}

/// Each has a turn of a bounded length.
void Guard::pump_ready() {
  std::vector<Id> turn;
  turn.swap(ready_);
  for (const Id id : turn) {
    const auto it = relays_.find(id);
    if (it == relays_.end()) continue;
    it->second.is_ready = false;
    pump(id, it->second);
  }
}

void Guard::pump(Id id, Entry& entry) {
  const int inner_before = entry.relay.inner_fd();
  const auto open = [this](const terms::Peer& peer) { return open_inner(peer); };
  const int before = entry.relay.is_work_for_grpc() ? 1 : 0;
  const auto state = entry.relay.pump(scratch_, open, system_clock().now_ns());
  work_for_grpc_ += (entry.relay.is_work_for_grpc() ? 1 : 0) - before;
  const int inner = entry.relay.inner_fd();
  const bool is_new = inner != inner_before;
  if (is_new && !watch(inner, id, kInnerEvents)) {
    end(id, make_error(Code::kResourceExhausted, "epoll: {}", std::strerror(errno)));
  } else if (!state.is_ok()) {
    end(id, state.status());
  } else if (*state == Relay::State::kOver) {
    end(id, ok_status());
  } else if (*state == Relay::State::kTurn) {
    wait_for_turn_.push_back(id);
  } else {
    if (*state == Relay::State::kGoesOn || is_new) set_ready(id);
    watch_room(id, entry);
  }
}

/// Asks for room at gRPC's end while bytes wait for it, and no longer.
void Guard::watch_room(Id id, Entry& entry) const {
  const bool waits = entry.relay.has_bytes_for_grpc();
  if (waits == std::exchange(entry.waits_for_room, waits)) return;
  epoll_event event = {};
  event.events = waits ? kInnerEvents | EPOLLOUT : kInnerEvents;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, entry.relay.inner_fd(), &event);
}

void Guard::give_turns() {
  int turns = kMaxWorkForGrpc - work_for_grpc_;
  while (turns-- > 0 && !wait_for_turn_.empty()) {
    set_ready(wait_for_turn_.front());
    wait_for_turn_.pop_front();
  }
}

void Guard::end_slow(std::int64_t now_ns) {
  std::vector<std::pair<Id, Status>> slow;
  for (const auto& [id, entry] : relays_) {
    Status status = entry.relay.check_time(now_ns);
    if (!status.is_ok()) slow.emplace_back(id, std::move(status));
  }
  for (const auto& [id, status] : slow) end(id, status);
}

void Guard::end(Id id, const Status& reason) {
  const auto it = relays_.find(id);
  Relay& relay = it->second.relay;
  if (!reason.is_ok()) {
    service::count_refused_connection();
    // A connection that was held could not greet in time.
    if (!it->second.is_held) offenders_.note(it->second.host, system_clock().now_ns());
    // Who attacks fills no log: the others are for those who debug.
    const bool is_news = warnings_.take(system_clock().now_ns());
    const auto level = is_news ? service::LogLevel::kWarning : service::LogLevel::kDebug;
    const std::string& address = relay.peer().address;  // of a Unix socket: none
    log_.add(level, "connection.ended address={} reason={}",
             service::in_quotes(address.empty() ? it->second.host : address),
             service::in_quotes(reason.message()));
  }
  const int before = relay.is_work_for_grpc() ? 1 : 0;
  const bool is_leaving = relay.client_fd() >= 0 && relay.inner_fd() >= 0;
  if (is_leaving) {
    unwatch(relay.client_fd());
    relay.leave();
    work_for_grpc_ += 1 - before;
    set_ready(id);
  } else {
    unwatch(relay.client_fd());
    unwatch(relay.inner_fd());
    work_for_grpc_ -= before;
    relays_.erase(it);
  }
}

/// A process that is being started may share the descriptor, and then closing removes nothing.
void Guard::unwatch(int fd) const {
  if (fd >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool Guard::watch(int fd, Id id, std::uint32_t events) const {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Result<shm::Fd> Guard::open_inner(const terms::Peer& peer) const {
  if (work_for_grpc_ >= kMaxWorkForGrpc) return shm::Fd();
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return make_error(Code::kResourceExhausted, "socketpair: {}", std::strerror(errno));
  }
  for (const int fd : ends) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof(kSocketBytes));
  }
  hand_over_(move_to_late_number(ends[1]), peer);
  return shm::Fd(ends[0]);
}

}  // namespace sluice::rpc::server
