// Lock order: `mutex_` (the line) is a leaf. No thread holds it while it calls a replica or a
// caller's `on_done`, because both may submit again. `park_mutex_` guards nothing; it closes the
// gap between a waiter's last look at `num_news_` and its sleep. The pump runs `start_waiting` on
// one thread at a time, so requests leave the line in its order.
#include "session/replica_set.h"

#include <algorithm>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::session {
namespace {

/// Set in ids of requests that waited in line; other ids hold the replica and the replica's id.
constexpr std::uint64_t kLineBit = std::uint64_t{1} << 63U;

/// How often full replicas are asked again: nothing notifies the set when requests of other clients
/// end.
constexpr std::int64_t kRetryNs = 100'000;

Status is_same_signature(const terms::Signature& a, const terms::Signature& b) {
  const auto is_same = [](const terms::TensorSpec& x, const terms::TensorSpec& y) {
    return x.name == y.name && x.type == y.type;
  };
  if (std::ranges::equal(a.inputs, b.inputs, is_same) &&
      std::ranges::equal(a.outputs, b.outputs, is_same)) {
    return ok_status();
  }
  return invalid_argument("replicas: their inputs or outputs differ; all must be of one model");
}

}  // namespace

Result<std::shared_ptr<ReplicaSet>> ReplicaSet::create(const Replicas& replicas,
                                                       const terms::ReplicaOptions& options) {
  if (replicas.empty()) return invalid_argument("replicas: there is none");
  std::shared_ptr<ReplicaSet> set(new ReplicaSet(options));
  for (const auto& sink : replicas) {
    SLUICE_TRY(is_same_signature(sink->signature(), replicas.front()->signature()));
    set->replicas_.emplace_back().sink = sink;
  }
  if (options.has_timer) {
    set->timer_ = SLUICE_TRY(start_thread([self = set.get()] { self->keep_time(); }));
  }
  return set;
}

ReplicaSet::~ReplicaSet() { shutdown(); }

int ReplicaSet::depth() const {
  int total = static_cast<int>(options_.queue_limit);
  for (const Replica& replica : replicas_) total += replica.sink->depth();
  return total;
}

Result<std::uint64_t> ReplicaSet::submit(runtime::Request& request) {
  if (is_shut_down_.load(std::memory_order_acquire)) {
    return terms::runtime_error(RuntimeCode::kFailed, "the combined model was shut down");
  }
  // A deadline of the request itself wins.
  if (options_.timeout_ns > 0 && request.deadline_ns == kNoDeadline) {
    request.deadline_ns = clock().now_ns() + options_.timeout_ns;
  }
  // While requests wait, new ones join the line: they must not overtake a higher priority.
  const bool has_line = num_waiting_.load(std::memory_order_acquire) > 0;
  if (!has_line) {
    auto id = offer(request);
    if (id.is_ok() || terms::runtime_code_of(id.status()) != RuntimeCode::kQueueFull) return id;
  }
  auto id = enter_line(request);
  if (!id.is_ok()) return id;
  start_waiting();  // a replica may have room again
  // Sequentially consistent with the store in keep_time: either the timer sees that a request
  // waits, or its `expire` sees the request.
  has_waiting_.store(true, std::memory_order_seq_cst);
  timer_spot_.wake();
  return id;
}

void ReplicaSet::keep_time() {
  const auto has_news = [this] { return is_shut_down_.load() || has_waiting_.load(); };
  while (!is_shut_down_.load()) {
    has_waiting_.store(false, std::memory_order_seq_cst);
    timer_spot_.wait(clock(), expire(), has_news);
  }
}

/// How many of a replica's `depth` places a request takes: its rows, where they are joined.
int ReplicaSet::places_of(const runtime::Request& request) const {
  if (request.inputs.empty() || request.inputs.front().dims.empty()) return 1;
  return static_cast<int>(
      std::clamp<std::int64_t>(request.inputs.front().dims.front(), 1, batch_rows()));
}

/// Tries the best replica, then the others. A refused request is unchanged.
Result<std::uint64_t> ReplicaSet::offer(runtime::Request& request) {
  const std::size_t turn =
      turn_.fetch_add(1, std::memory_order_relaxed) / static_cast<std::size_t>(batch_rows());
  const int places = places_of(request);
  Status status =
      terms::runtime_error(RuntimeCode::kQueueFull, "every replica has its depth in flight");
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica* replica = choose(turn + i);
    if (replica == nullptr) break;
    request.on_done = OnDone{this, replica, places, std::move(request.on_done)};
    if (replicas_.size() > 1) request.will_wait = false;  // the caller waits for several replicas
    // Counted before the submission, whose reply may come before it returns.
    replica->in_flight.fetch_add(places, std::memory_order_acq_rel);
    replica->open.fetch_add(1, std::memory_order_acq_rel);
    auto id = replica->sink->submit(request);
    if (id.is_ok()) {
      wake_parked();  // a parked thread may have to run it
      const auto index = static_cast<std::uint64_t>(
          std::ranges::find_if(replicas_, [&](const Replica& r) { return &r == replica; }) -
          replicas_.begin());
      return *id * replicas_.size() + index;
    }
    auto callers = std::move(request.on_done.target<OnDone>()->callers);
    request.on_done = std::move(callers);
    replica->in_flight.fetch_sub(places, std::memory_order_acq_rel);
    replica->open.fetch_sub(1, std::memory_order_acq_rel);
    status = std::move(id).status();
    if (terms::runtime_code_of(status) != RuntimeCode::kQueueFull) break;
  }
  return status;
}

/// The best replica with room for a request of this set; null if all are full. Ties go in turn.
ReplicaSet::Replica* ReplicaSet::choose(std::size_t turn) {
  Replica* best = nullptr;
  std::int64_t least = 0;
  int most_joined = 0;
  const std::int64_t rows_of_run = batch_rows();
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = replicas_[(turn + i) % replicas_.size()];
    const int in_flight = replica.in_flight.load(std::memory_order_relaxed);
    if (in_flight >= replica.sink->depth()) continue;
    if (options_.choice == terms::ReplicaChoice::kRoundRobin) return &replica;
    const std::int64_t runs = in_flight / rows_of_run;
    if (best != nullptr && (runs > least || (runs == least && in_flight <= most_joined))) continue;
    best = &replica;
    least = runs;
    most_joined = in_flight;
  }
  return best;
}

void ReplicaSet::OnDone::operator()(runtime::Reply reply) {
  ReplicaSet* owner = set;
  Replica* finished = replica;
  finished->in_flight.fetch_sub(places, std::memory_order_acq_rel);
  callers(std::move(reply));
  if (owner->num_waiting_.load(std::memory_order_seq_cst) > 0) owner->start_waiting();
  owner->wake_parked();
  finished->open.fetch_sub(
      1,
      std::memory_order_acq_rel);  // the last access to *this: `shutdown` waits for it
}

Result<std::uint64_t> ReplicaSet::enter_line(runtime::Request& request) {
  const std::int64_t now_ns = clock().now_ns();
  if (request.deadline_ns <= now_ns) {
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed {} ns ago",
                                now_ns - request.deadline_ns);
  }
  const std::lock_guard lock(mutex_);
  if (is_shut_down_.load(std::memory_order_acquire)) {
    return terms::runtime_error(RuntimeCode::kFailed, "the combined model was shut down");
  }
  if (line_.size() >= options_.queue_limit) {
    return terms::runtime_error(RuntimeCode::kQueueFull,
                                "every replica is busy and {} requests wait", line_.size());
  }
  const std::uint64_t id = kLineBit | ++num_lined_up_;
  // The reply erases the entry, on whatever thread it comes.
  const auto forget = [this, id, callers = std::move(request.on_done)](runtime::Reply reply) {
    with_lock(mutex_, [&] { left_line_.erase(id); });
    callers(std::move(reply));
  };
  request.on_done = forget;
  request.will_wait = false;  // another thread submits it
  line_.push({id, now_ns, std::move(request)});
  count_waiting();
  return id;
}

/// Requires: `mutex_` is held.
void ReplicaSet::count_waiting() { num_waiting_.store(line_.size(), std::memory_order_seq_cst); }

void ReplicaSet::start_waiting() {
  pump_.run([this] {
    while (auto waiting = pop_line()) {
      const std::uint64_t id = waiting->id;
      waiting->request.since_ns = waiting->submitted_ns;
      auto in_flight = offer(waiting->request);
      if (!in_flight.is_ok()) {
        if (terms::runtime_code_of(in_flight.status()) == RuntimeCode::kQueueFull) {
          put_back(std::move(*waiting));
          return;
        }
        end(*waiting, in_flight.status());
        continue;
      }
      const std::lock_guard lock(mutex_);
      const auto it = left_line_.find(id);  // erased after the reply
      if (it != left_line_.end()) it->second = *in_flight;
    }
  });
}

std::optional<runtime::PendingRequest> ReplicaSet::pop_line() {
  const std::lock_guard lock(mutex_);
  line_.put_passed_first();
  auto waiting = line_.pop();
  if (waiting) left_line_[waiting->id] = kLineBit;  // between line and replica
  count_waiting();
  return waiting;
}

void ReplicaSet::put_back(runtime::PendingRequest waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_shut_down_.load(std::memory_order_acquire)) {
      left_line_.erase(waiting.id);
      line_.push(std::move(waiting));
      count_waiting();
      return;
    }
  }
  end(waiting, terms::runtime_error(RuntimeCode::kCancelled, "the combined model shuts down"));
}

/// Answers a request that left the line.
void ReplicaSet::end(const runtime::PendingRequest& waiting, const Status& why) {
  waiting.request.on_done(runtime::failed_reply(why));
  tell_waiters();
}

bool ReplicaSet::cancel(std::uint64_t id) {
  if ((id & kLineBit) != 0) {
    std::unique_lock lock(mutex_);
    if (auto waiting = line_.take(id)) {
      count_waiting();
      lock.unlock();
      end(*waiting, terms::runtime_error(RuntimeCode::kCancelled, "the request was cancelled"));
      return true;
    }
    const auto it = left_line_.find(id);
    if (it == left_line_.end() || it->second == kLineBit) return false;
    id = it->second;
  }
  const std::size_t num_replicas = replicas_.size();
  return replicas_[id % num_replicas].sink->cancel(id / num_replicas);
}

std::int64_t ReplicaSet::expire() {
  const std::int64_t now_ns = clock().now_ns();
  if (num_waiting_.load(std::memory_order_acquire) == 0) return kNoDeadline;
  std::vector<runtime::PendingRequest> expired;
  {
    const std::lock_guard lock(mutex_);
    expired = line_.take_expired(now_ns);
    count_waiting();
  }
  for (const runtime::PendingRequest& waiting : expired) {
    end(waiting,
        terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed while it waited"));
  }
  start_waiting();
  const bool is_idle = std::ranges::all_of(
      replicas_, [](const Replica& replica) { return replica.in_flight.load() == 0; });
  const std::lock_guard lock(mutex_);
  const std::int64_t retry_ns = is_idle && !line_.empty() ? now_ns + kRetryNs : kNoDeadline;
  return std::min(retry_ns, line_.next_deadline_ns());
}

bool ReplicaSet::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  while (!is_done()) {
    const std::int64_t now_ns = clock().now_ns();
    if (now_ns >= deadline_ns) return false;
    const std::int64_t until_ns = std::min(deadline_ns, expire());
    if (replicas_.size() == 1) {
      (void)replicas_.front().sink->wait(is_done, until_ns);
      continue;
    }
    const std::uint64_t news = num_news_.load(std::memory_order_seq_cst);
    for (Replica& replica : replicas_) {
      if (replica.sink->wait(is_done, now_ns)) return true;
    }
    std::unique_lock lock(park_mutex_);
    num_parked_.fetch_add(1, std::memory_order_seq_cst);
    const bool has_news = num_news_.load(std::memory_order_seq_cst) != news;
    if (!has_news && !is_done()) clock().wait_until(lock, changed_, until_ns);
    num_parked_.fetch_sub(1, std::memory_order_seq_cst);
  }
  return true;
}

void ReplicaSet::tell_waiters() {
  if (replicas_.size() == 1)
    return replicas_.front().sink->tell_waiters();  // all callers wait in the one replica
  wake_parked();
}

void ReplicaSet::wake_parked() {
  // Prevents a lost wake-up: this thread sees the sleeper, or the sleeper sees the count.
  num_news_.fetch_add(1, std::memory_order_seq_cst);
  if (num_parked_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard lock(park_mutex_); }
  changed_.notify_all();
}

void ReplicaSet::shutdown() {
  std::vector<runtime::PendingRequest> cancelled;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !is_shut_down_.exchange(true);
    cancelled = line_.take_all();
    count_waiting();
  }
  timer_spot_.wake();
  if (is_first && timer_.joinable()) timer_.join();
  for (const runtime::PendingRequest& waiting : cancelled) {
    end(waiting, terms::runtime_error(RuntimeCode::kCancelled, "the combined model was shut down"));
  }
  for (Replica& replica : replicas_) {
    const auto is_done = [&] { return replica.open.load(std::memory_order_acquire) == 0; };
    while (!replica.sink->wait(is_done, kNoDeadline)) {
    }
  }
}

}  // namespace sluice::session
