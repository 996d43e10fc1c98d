#include "worker/link/link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::worker {

using nlohmann::json;

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
/// Discovery and the plug-ins' start take seconds at most; a busy machine needs more.
constexpr std::int64_t kStartTimeoutNs = 60'000'000'000;
/// A cancelled load ends after the constant that it is packing. A worker that takes longer hangs.
constexpr std::int64_t kCancelTimeoutNs = 10'000'000'000;
/// How often a worker is asked whether it lives, and the longest time between two looks at its
/// answer that counts as silence: a machine that was suspended must not end its workers.
constexpr std::int64_t kBeatNs = 1'000'000'000;
constexpr std::int64_t kMaxLookNs = 250'000'000;
/// Limit of what a worker says when it ends itself.
constexpr std::size_t kMaxWordBytes = 1500;

/// Limited to a decade: adding the largest timeout to now would overflow.
std::chrono::steady_clock::time_point after(std::int64_t timeout_ns) {
  using std::chrono::steady_clock;
  constexpr std::int64_t kDecade = std::int64_t{300'000'000} * 1'000'000'000;
  return steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kDecade));
}

}  // namespace

Result<std::shared_ptr<WorkerLink>> WorkerLink::start(const LinkOptions& options,
                                                      std::function<void(const Status&)> on_death) {
  auto arena = SLUICE_TRY(Arena::create());
  auto sockets = SLUICE_TRY(Channel::make_pair());
  auto process = SLUICE_TRY(Process::start(options.program, sockets.other));
  // Closes our copy of the worker's end, so that the worker's death closes the connection.
  { const shm::Fd theirs = std::move(sockets.other); }
  std::shared_ptr<WorkerLink> link(new WorkerLink(options, std::move(on_death), std::move(process),
                                                  std::move(sockets.one), arena));
  link->receiver_ = SLUICE_TRY(start_thread([raw = link.get()] { raw->take_completions(); }));
  link->reader_ = SLUICE_TRY(start_thread([raw = link.get()] { raw->read_messages(); }));
  const auto begin = [&]() -> Status {
    SLUICE_TRY(link->call({{"op", "memory"}}, arena->fd(), kStartTimeoutNs));
    const shm::Fd text = SLUICE_TRY(text_file(options.start));
    SLUICE_TRY(link->call({{"op", "start"}}, text.get(), kStartTimeoutNs));
    return ok_status();
  };
  const Status status = begin();
  if (status.is_ok()) {
    const std::lock_guard lock(link->mutex_);
    link->is_ready_ = true;
    return link;
  }
  link->close();
  return status;
}

WorkerLink::WorkerLink(const LinkOptions& options, std::function<void(const Status&)> on_death,
                       std::unique_ptr<Process> process, shm::Fd socket,
                       const std::shared_ptr<Arena>& arena)
    : options_(options),
      on_death_(std::move(on_death)),
      process_(std::move(process)),
      channel_(std::move(socket)),
      flights_(arena, options_.name) {}

WorkerLink::~WorkerLink() { close(); }

/// The reader answers everything in `die` before it ends, so the receiver may stop only after it.
void WorkerLink::close() {
  with_lock(mutex_, [&] { is_closing_ = true; });
  process_->kill();
  channel_.shut_down();
  if (reader_.joinable()) reader_.join();
  is_receiving_ = false;
  flights_.wake();
  if (receiver_.joinable()) receiver_.join();
}

// ---- calls

Result<json> WorkerLink::call(json message, int fd, std::int64_t timeout_ns,
                              const std::stop_token& stop) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_dead_) return cause_;
    id = next_id_++;
    calls_[id];
  }
  message["id"] = id;
  const auto send = [this](const json& body, int file) {
    const std::lock_guard lock(send_mutex_);
    return channel_.send(body, file);
  };
  const Status sent = send(message, fd);
  if (!sent.is_ok()) process_->kill();  // the reader sees the death and answers this call
  std::unique_lock lock(mutex_);
  const auto is_answered = [&] { return calls_[id].answer.has_value(); };
  bool has_come = answered_.wait_until(lock, stop, after(timeout_ns), is_answered);
  if (!has_come && stop.stop_requested()) {
    lock.unlock();
    // It fails only if the worker is dead, which answers the call.
    (void)send({{"op", "cancel"}, {"call", id}, {"id", 0}}, -1);
    lock.lock();
    has_come = answered_.wait_until(lock, after(kCancelTimeoutNs), is_answered);
  }
  if (!has_come) {
    process_->kill();
    answered_.wait(lock, is_answered);
  }
  auto answer = std::move(*calls_[id].answer);
  calls_.erase(id);
  return answer;
}

void WorkerLink::read_messages() {
  while (true) {
    const auto message = channel_.receive();
    if (!message.is_ok()) break;
    take_message(message->body);
  }
  die();
}

/// The worker may be hostile: unknown ids and second answers are ignored.
void WorkerLink::take_message(const json& message) {
  const auto op = JsonValue(message, "").text_or("op", "");
  if (op.is_ok() && *op == "end") {
    const auto why = JsonValue(message, "").text_or("why", "");
    const std::lock_guard lock(mutex_);
    if (why.is_ok()) last_words_ = why->substr(0, kMaxWordBytes);
    return;
  }
  const auto id = JsonValue(message, "").int_or("id", 0, 0, std::int64_t{1} << 62);
  if (!id.is_ok()) return;
  const Status status = status_from_json(message);
  const std::lock_guard lock(mutex_);
  const auto it = calls_.find(static_cast<std::uint64_t>(*id));
  if (it == calls_.end() || it->second.answer) return;
  it->second.answer = status.is_ok() ? Result<json>(message) : Result<json>(status);
  answered_.notify_all();
}

void WorkerLink::take_completions() {
  while (is_receiving_) {
    if (flights_.take_one()) continue;
    if (flights_.is_broken()) process_->kill();
    const std::int64_t now_ns = system_clock().now_ns();
    flights_.expire(now_ns);
    watch(now_ns);
    flights_.wait();
  }
}

/// The worker answers a ping on the thread that takes its calls, whatever it computes.
void WorkerLink::watch(std::int64_t now_ns) {
  json ping;
  {
    const std::lock_guard lock(mutex_);
    if (!is_ready_ || is_dead_ || is_closing_) return;
    if (ping_ && calls_[*ping_].answer) {
      if (calls_[*ping_].answer->is_ok()) take_overdue(**calls_[*ping_].answer);
      calls_.erase(*ping_);
      ping_.reset();
      silent_ns_ = 0;
    } else if (ping_) {
      silent_ns_ += std::min(now_ns - watched_ns_, kMaxLookNs);
      watched_ns_ = now_ns;
      if (silent_ns_ > options_.silence_limit_ns) process_->kill();
      return;
    }
    if (now_ns - watched_ns_ < kBeatNs) return;
    watched_ns_ = now_ns;
    ping_ = next_id_++;
    calls_[*ping_];
    ping = {{"op", "ping"}, {"id", *ping_}};
  }
  const std::lock_guard lock(send_mutex_);
  const Status sent = channel_.send(ping, -1);
  if (!sent.is_ok()) process_->kill();
}

/// Two answers have to say so: of a machine that stood still, the first one tells nothing.
/// Requires: mutex_ is held.
void WorkerLink::take_overdue(const json& pong) {
  const auto now_ns = JsonValue(pong, "").int_or("overdue_ns", 0, 0, std::int64_t{1} << 62);
  const std::int64_t before_ns = std::exchange(overdue_ns_, now_ns.is_ok() ? *now_ns : 0);
  if (std::min(before_ns, overdue_ns_) <= options_.silence_limit_ns) return;
  ignores_stop_ = true;
  process_->kill();
}

// ---- its end

/// On the reader's thread, once. Order matters: the owner learns of the death before anybody whom
/// it fails, so that who asks again meets the next worker. `is_dead_` refuses new calls before the
/// calls and requests in flight are answered, so none is left unanswered. `flights_` answers
/// without `mutex_`, because its callbacks submit again.
void WorkerLink::die() {
  const std::string end = process_->end();
  Status cause;
  bool is_closing = false;
  {
    const std::lock_guard lock(mutex_);
    is_closing = is_closing_;
    std::string what = "died of " + end;
    if (silent_ns_ > options_.silence_limit_ns) {
      what = fmt::format("was ended because it did not answer for {} s", silent_ns_ / kSecondNs);
    } else if (!last_words_.empty()) {
      what = "ended itself: " + last_words_;
    } else if (ignores_stop_) {
      what = fmt::format("was ended because a run went on for {} s after it was to stop",
                         overdue_ns_ / kSecondNs);
    }
    cause = is_closing
                ? terms::runtime_error(RuntimeCode::kCancelled, "{} was ended", options_.name)
                : terms::runtime_error(
                      RuntimeCode::kDeviceError, "{} {}{}", options_.name, what,
                      is_ready_ ? "; it is being restarted, try again" : " before it was ready");
  }
  if (!is_closing && on_death_) on_death_(cause);
  {
    const std::lock_guard lock(mutex_);
    is_dead_ = true;
    cause_ = cause;
    for (auto& [id, call] : calls_) {
      if (!call.answer) call.answer = Result<json>(cause);
    }
    answered_.notify_all();
  }
  flights_.end(cause);
}

}  // namespace sluice::worker
