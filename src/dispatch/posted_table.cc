#include "dispatch/posted_table.h"

#include <atomic>
#include <random>
#include <utility>

#include "base/no_memory.h"
#include "runtime/handle_table.h"

namespace sluice::dispatch {
namespace {

/// No two sessions of a daemon use a number, and one of the daemon before hardly comes again: an id
/// of the wrong session finds nothing.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next = std::random_device()() & 0x7FFF'FFFFU;
  return next.fetch_add(1);
}

}  // namespace

Status PostedTable::spent(std::uint64_t id) const {
  if (!closed_.is_ok()) return closed_;
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no request has id {:#x}, or its reply was taken, or dropped: it "
                              "stays {} s",
                              id, kKeptNs / 1'000'000'000);
}

std::int64_t PostedTable::answered(Posted& entry, std::uint64_t id) {
  entry.state = State::kAnswered;
  // A reply that returns keeps the time of its answer: asking again does not extend its 60 s.
  if (entry.done_ns == kNoDeadline) entry.done_ns = clock_.now_ns();
  const auto place = answered_.emplace(entry.done_ns, id).first;
  // A later one is seen when `expire` drops the first.
  return place == answered_.begin() ? entry.done_ns + kKeptNs : kNoDeadline;
}

std::int64_t PostedTable::expire() {
  std::vector<Answer> dropped;
  const std::lock_guard lock(mutex_);
  dropped = make_room(kMost);
  return answered_.empty() ? kNoDeadline : answered_.begin()->first + kKeptNs;
}

PostedTable::Answer PostedTable::remove(Entries::iterator entry) {
  answered_.erase({entry->second.done_ns, entry->first});
  Answer answer = std::move(entry->second.answer);
  posted_.erase(entry);
  return answer;
}

std::vector<PostedTable::Answer> PostedTable::make_room(std::size_t most) {
  std::vector<Answer> dropped;
  const std::int64_t now_ns = clock_.now_ns();
  while (!answered_.empty() &&
         (now_ns - answered_.begin()->first >= kKeptNs || posted_.size() > most)) {
    dropped.push_back(remove(posted_.find(answered_.begin()->second)));
  }
  return dropped;
}

Result<std::uint64_t> PostedTable::post(const std::shared_ptr<ModelRef>& model,
                                        std::shared_ptr<telemetry::Observation> observation,
                                        runtime::Request& request, RequestLimits limits,
                                        Answer answer) {
  std::uint64_t id = 0;
  std::vector<Answer> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_.is_ok()) return closed_;
    dropped = make_room(kMost - 1);
    if (posted_.size() >= kMost) {
      return terms::runtime_error(RuntimeCode::kOutOfResources,
                                  "{} posted requests are in flight, the most of a session: wait "
                                  "for one of them",
                                  posted_.size());
    }
    id = runtime::handle_of(runtime::HandleKind::kPosted, next_number());
    posted_[id].answer = std::move(answer);
  }
  const Status status = catch_no_memory([&] {
    const auto flight = flights_.enter(id, model, false, std::move(observation));
    request.on_done = [self = shared_from_this(), id,
                       on_done = std::move(request.on_done)](runtime::Reply reply) {
      on_done(std::move(reply));
      self->finish(id);
    };
    return flights_.post(flight, request, std::move(limits));
  });
  if (status.is_ok()) return id;
  const std::lock_guard lock(mutex_);
  posted_.erase(id);
  return status;
}

void PostedTable::finish(std::uint64_t id) {
  std::function<void()> on_end;
  std::vector<Answer> dropped;
  std::int64_t over_ns = kNoDeadline;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end()) return;  // closed meanwhile
    over_ns = answered(it->second, id);
    on_end = std::exchange(it->second.on_end, nullptr);
    dropped = make_room(kMost);
  }
  tell(over_ns);
  if (on_end) on_end();
}

Result<PostedTable::Answer> PostedTable::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = posted_.find(id);
  if (it == posted_.end()) return spent(id);
  Posted& entry = it->second;
  if (entry.state != State::kAnswered) {
    const bool is_running = entry.state == State::kInFlight;
    return terms::runtime_error(
        RuntimeCode::kPending, "{}",
        is_running ? "the request is not done yet" : "the reply is on its way to another call");
  }
  answered_.erase({entry.done_ns, id});
  entry.state = State::kOnItsWay;
  return std::move(entry.answer);
}

void PostedTable::delivered(std::uint64_t id) {
  std::function<void()> on_end;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end() || it->second.state != State::kOnItsWay) return;
    on_end = std::move(it->second.on_end);
    posted_.erase(it);
  }
  if (on_end) on_end();
}

void PostedTable::put_back(std::uint64_t id, Answer answer) {
  std::function<void()> on_end;
  std::int64_t over_ns = kNoDeadline;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end() || it->second.state != State::kOnItsWay) return;
    it->second.answer = std::move(answer);
    over_ns = answered(it->second, id);
    on_end = std::exchange(it->second.on_end, nullptr);
  }
  tell(over_ns);
  if (on_end) on_end();
}

void PostedTable::await(std::uint64_t id, const void* who, std::function<void()> on_end) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it != posted_.end() && it->second.state != State::kAnswered) {
      std::swap(on_end, it->second.on_end);  // one waits at a time: who came before goes
      it->second.who = who;
    }
  }
  if (on_end) on_end();
}

void PostedTable::leave(std::uint64_t id, const void* who) {
  std::function<void()> on_end;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end() || it->second.who != who) return;
    on_end = std::exchange(it->second.on_end, nullptr);
  }
  if (on_end) on_end();
}

Status PostedTable::cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!posted_.contains(id)) return spent(id);
  }
  flights_.cancel(id);
  return ok_status();
}

void PostedTable::close(const Status& reason) {
  Entries posted;
  {
    const std::lock_guard lock(mutex_);
    if (closed_.is_ok()) closed_ = reason;
    posted.swap(posted_);
    answered_.clear();
  }
  flights_.cancel_all();
  for (const auto& [id, one] : posted) {
    if (one.on_end) one.on_end();
  }
}

}  // namespace sluice::dispatch
