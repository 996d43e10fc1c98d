#include "rpc/server/connections/loop.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/process/start_thread.h"
#include "rpc/wire/times.h"
#include "service/clients/refusals.h"

namespace sluice::rpc::server {
namespace {

/// How often held connections are looked at.
constexpr int kHeldMs = 50;
constexpr int kStoppingMs = 10;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr Rate kWarnings = {.burst = 20, .per_second = 1};
constexpr std::int64_t kStopNs = 500'000'000;

/// Edges: a pump goes on until nothing moves. A Unix socket tells of room whenever its other end
/// has read, so a thread that always asks for that would wake once more for each answer.
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr std::uint64_t kWakeId = 0;

/// Connections of all loops.
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next = kWakeId + 1;
  return next.fetch_add(1);
}

/// Administrators keep no rates and no times.
http2::FrameLimits limits_of(bool is_trusted) {
  http2::FrameLimits limits;
  if (!is_trusted) return limits;
  constexpr Rate kAny = {.burst = 1'000'000'000, .per_second = 1'000'000'000};
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  limits.control = limits.resets = limits.window_updates = kAny;
  limits.greeting_ns = limits.first_call_ns = limits.header_block_ns = kNever;
  return limits;
}

/// OpenSSL writes without MSG_NOSIGNAL.
void block_sigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

Loop::Loop(const CallSettings& settings, Offenders& offenders, service::Log& log,
           std::int64_t max_age_ns)
    : settings_(settings),
      offenders_(offenders),
      log_(log),
      max_age_ns_(max_age_ns),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      queue_([this] { wake(); }),
      warnings_(kWarnings, system_clock().now_ns()),
      scratch_(kReadBytes) {}

Result<std::unique_ptr<Loop>> Loop::create(const CallSettings& settings, Offenders& offenders,
                                           service::Log& log, std::int64_t max_age_ns) {
  std::unique_ptr<Loop> loop(new Loop(settings, offenders, log, max_age_ns));
  const bool is_whole = loop->epoll_.is_valid() && loop->wake_.is_valid();
  // By edges, so that the counter needs not be read.
  if (!is_whole || !loop->watch(EPOLL_CTL_ADD, loop->wake_.get(), kWakeId, EPOLLIN | EPOLLET)) {
    return make_error(Code::kResourceExhausted, "no descriptor left to serve connections");
  }
  loop->thread_ = SLUICE_TRY(start_thread([raw = loop.get()] { raw->run(); }));
  return loop;
}

// ---- from any thread

void Loop::add(std::unique_ptr<Transport> client, terms::Peer peer, std::string host,
               bool is_trusted) {
  if (client == nullptr) return;
  auto connection =
      std::make_unique<Connection>(std::move(client), std::move(peer), limits_of(is_trusted),
                                   settings_, queue_, max_age_ns_, system_clock().now_ns());
  {
    const std::lock_guard lock(mutex_);
    if (order_ >= Order::kFinish) return;
    arrived_.push_back({std::move(connection), std::move(host), is_trusted});
  }
  wake();
}

void Loop::order(Order order) {
  {
    const std::lock_guard lock(mutex_);
    order_ = std::max(order_, order);
  }
  wake();
}

void Loop::stop() {
  order(Order::kStop);
  if (thread_.joinable()) thread_.join();
}

void Loop::wake() const {
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_.get(), &one, sizeof(one));
  (void)written;  // full: it is awake already
}

// ---- the loop's thread

void Loop::run() {
  block_sigpipe();
  queue_.begin();
  looked_ns_ = released_ns_ = system_clock().now_ns();
  std::int64_t now_ns = looked_ns_;
  while (!is_stopped(now_ns)) {
    wait(now_ns);
    now_ns = system_clock().now_ns();
    take_arrived();
    take_order();
    queue_.expire(now_ns);
    queue_.run();
    set_touched_ready();
    pump_ready(now_ns);
    set_touched_ready();
    if (gives_way()) sched_yield();
    if (now_ns - released_ns_ >= kHeldMs * kNsPerMs) release_held(now_ns);
    if (now_ns - looked_ns_ >= wire::kStillMs * kNsPerMs) look(now_ns);
  }
  connections_.clear();
  queue_.run();
}

/// More to move at once is a large message or, of those who are not trusted, a flood. Whoever waits
/// for this processor goes first then; otherwise the thread keeps it for a slice of the scheduler,
/// some milliseconds.
bool Loop::gives_way() const {
  return std::ranges::any_of(ready_, [this](Id id) {
    const auto it = connections_.find(id);
    return it != connections_.end() && !it->second.is_trusted;
  });
}

/// What waits to be sent has a moment; handlers have until they finish their calls.
bool Loop::is_stopped(std::int64_t now_ns) {
  if (done_ < Order::kStop) return false;
  if (stop_ns_ == 0) stop_ns_ = now_ns + kStopNs;
  if (queue_.num_calls() > 0) return false;
  const auto waits = [](const auto& one) {
    return one.second.connection->waits_for_room() || one.second.connection->wants_to_send();
  };
  return now_ns >= stop_ns_ || std::ranges::none_of(connections_, waits);
}

int Loop::timeout_ms(std::int64_t now_ns) const {
  if (!ready_.empty()) return 0;
  const int most = done_ == Order::kStop ? kStoppingMs : held_.empty() ? wire::kStillMs : kHeldMs;
  const std::int64_t next_ns = queue_.next_deadline_ns();
  if (next_ns == kNoDeadline) return most;
  // A part of a millisecond is one: the deadline has passed then.
  const std::int64_t left_ms = std::max<std::int64_t>(next_ns - now_ns, 0) / kNsPerMs + 1;
  return static_cast<int>(std::min<std::int64_t>(most, left_ms));
}

void Loop::wait(std::int64_t now_ns) {
  std::array<epoll_event, 64> events = {};
  const int count =
      epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms(now_ns));
  for (int i = 0; i < count; ++i) take_event(events[static_cast<std::size_t>(i)]);
}

/// Only the end of a held connection counts. A flood's clients give up soon.
void Loop::take_event(const epoll_event& event) {
  const auto it = connections_.find(event.data.u64);
  if (it == connections_.end()) return;  // the wake-up, or ended meanwhile
  const bool is_ending = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  it->second.connection->note_readable(is_ending);
  if (!it->second.is_held) return set_ready(it->first);
  if (is_ending) end(it->first, ok_status());
}

void Loop::set_ready(Id id) {
  const auto it = connections_.find(id);
  if (it == connections_.end() || it->second.is_ready || it->second.is_held) return;
  it->second.is_ready = true;
  ready_.push_back(id);
}

void Loop::set_touched_ready() {
  for (const Id id : queue_.take_touched()) {
    const auto it = connections_.find(id);
    if (it != connections_.end() && it->second.connection->wants_to_send()) set_ready(id);
  }
}

void Loop::take_arrived() {
  std::vector<Entry> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (Entry& one : arrived) {
    const Id id = next_id();
    const int fd = one.connection->fd();
    one.is_held = !one.is_trusted && offenders_.contains(one.host);
    const bool is_held = one.is_held;
    connections_.emplace(id, std::move(one));
    if (!watch(EPOLL_CTL_ADD, fd, id, kEvents)) {
      end(id, make_error(Code::kResourceExhausted, "epoll: {}", std::strerror(errno)));
    } else if (is_held) {
      held_.push_back(id);
    } else {
      set_ready(id);
    }
  }
}

void Loop::take_order() {
  Order order = Order::kNone;
  {
    const std::lock_guard lock(mutex_);
    order = order_;
  }
  if (order == done_) return;
  done_ = order;
  if (order == Order::kStop) {
    std::erase_if(connections_, [](const auto& one) { return one.second.connection->has_calls(); });
  }
  for (auto& [id, entry] : connections_) {
    if (order >= Order::kFinish) {
      entry.connection->finish();
    } else if (!entry.is_trusted) {
      entry.connection->say_goodbye();
    }
    set_ready(id);
  }
}

/// Those that Offenders admits now; forgets those that ended meanwhile. The newest comes first: a
/// flood's clients give up within moments, and a connection full of unread bytes does not tell it.
void Loop::release_held(std::int64_t now_ns) {
  released_ns_ = now_ns;
  std::vector<Id> left;
  for (auto id = held_.rbegin(); id != held_.rend(); ++id) {
    const auto it = connections_.find(*id);
    if (it == connections_.end()) continue;
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
void Loop::pump_ready(std::int64_t now_ns) {
  std::vector<Id> turn;
  turn.swap(ready_);
  for (const Id id : turn) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) continue;
    it->second.is_ready = false;
    pump(id, it->second, now_ns);
  }
}

void Loop::pump(Id id, Entry& entry, std::int64_t now_ns) {
  const auto state = entry.connection->pump(id, scratch_, now_ns);
  if (!entry.is_open && entry.connection->is_open()) log_begin(id, entry);
  if (!state.is_ok()) return end(id, state.status());
  if (*state == Connection::State::kOver || entry.connection->is_gone())
    return end(id, ok_status());
  if (*state == Connection::State::kGoesOn) set_ready(id);
  watch_room(id, entry);
}

/// Asks for room while bytes wait for it, and no longer.
void Loop::watch_room(Id id, Entry& entry) const {
  const bool waits = entry.connection->waits_for_room();
  if (waits == std::exchange(entry.waits_for_room, waits)) return;
  watch(EPOLL_CTL_MOD, entry.connection->fd(), id, waits ? kEvents | EPOLLOUT : kEvents);
}

void Loop::look(std::int64_t now_ns) {
  looked_ns_ = now_ns;
  std::vector<std::pair<Id, Status>> ended;
  for (auto& [id, entry] : connections_) {
    Status status = entry.connection->check_time(now_ns);
    if (!status.is_ok() || entry.connection->is_gone()) ended.emplace_back(id, std::move(status));
    if (entry.connection->wants_to_send()) set_ready(id);
  }
  for (const auto& [id, status] : ended) end(id, status);
}

void Loop::end(Id id, const Status& reason) {
  const auto it = connections_.find(id);
  if (!reason.is_ok()) log_end(it->second, reason);
  // A process that is being started may share the descriptor, and then closing removes nothing.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, it->second.connection->fd(), nullptr);
  connections_.erase(it);
  queue_.run();  // its calls end
}

void Loop::log_begin(Id id, Entry& entry) {
  entry.is_open = true;
  const terms::Peer& peer = entry.connection->peer();
  log_.add(service::LogLevel::kDebug,
           "connection.open id={} process={} user={} address={} certificate={}", id, peer.process,
           peer.user, service::in_quotes(peer.address), service::in_quotes(peer.certificate));
}

void Loop::log_end(const Entry& entry, const Status& reason) {
  service::count_refused_connection();
  // A connection that was held could not greet in time.
  if (!entry.is_held) offenders_.note(entry.host, system_clock().now_ns());
  // Who attacks fills no log: the others are for those who debug.
  const bool is_news = warnings_.take(system_clock().now_ns());
  const auto level = is_news ? service::LogLevel::kWarning : service::LogLevel::kDebug;
  const std::string& address = entry.connection->peer().address;
  log_.add(level, "connection.ended address={} reason={}",
           service::in_quotes(address.empty() ? entry.host : address),
           service::in_quotes(reason.message()));
}

bool Loop::watch(int operation, int fd, Id id, std::uint32_t events) const {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

}  // namespace sluice::rpc::server
