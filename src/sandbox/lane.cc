#include "sandbox/lane.h"

#include <algorithm>

#include "base/process/with_lock.h"
#include "runtime/statistics/health.h"

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;
using terms::runtime_error;

namespace {

/// A request of a function without weights costs about as much as reading this.
constexpr double kBytesOfAnyRequest = 1 << 18;

Status removed(const std::string& name) {
  return runtime_error(RuntimeCode::kInvalidHandle, "function \"{}\" was removed", name);
}

}  // namespace

Status Lane::closed() {
  return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                "the lane of the function is shut down");
}

Lane::Lane(LaneHost host, terms::CoreGroupId group, LanePlaces places)
    : host_(std::move(host)),
      clock_(host_.models->clock()),
      group_(group),
      num_places_(places.count),
      drivers_(clock_),
      driver_(drivers_.drive(*this, std::move(places.cpus), places.count)) {}

Lane::~Lane() { shutdown(0); }

double Lane::expected_load() const {
  const std::lock_guard lock(mutex_);
  double sum = 0;
  for (const auto& [id, function] : functions_) {
    const auto bytes = static_cast<double>(function->footprint.total_bytes());
    sum += function->options.share * (kBytesOfAnyRequest + bytes);
  }
  return sum;
}

bool Lane::is_empty() const {
  const std::lock_guard lock(mutex_);
  return functions_.empty();
}

void Lane::add(const std::shared_ptr<Function>& function) {
  const std::lock_guard lock(mutex_);
  function->id = shares_.add(function->options.share, function->options.priority);
  functions_.emplace(function->id, function);
}

/// One order of a function at a time; a second caller waits for the end of the first.
Status Lane::ask(const std::shared_ptr<Function>& function, Function::Order order) {
  const auto is_free = [&] {
    const std::lock_guard lock(mutex_);
    return function->order == Function::Order::kNone || is_over_;
  };
  for (bool is_made = false; !is_made;) {
    wait(is_free, kNoDeadline);
    const std::lock_guard lock(mutex_);
    if (is_over_) return closed();
    if (function->order != Function::Order::kNone) continue;  // another caller was quicker
    // After the wait: the function may have been removed meanwhile.
    if (function->is_removed && order != Function::Order::kRemove) return removed(function->name);
    // The step, on whichever thread drives the lane, fulfils the order: loads and unloads never
    // overlap a turn of the function, which gets no other turn before.
    function->order = order;
    ++num_orders_;
    note_waiting(*function);
    is_made = true;
  }
  wait(is_free, kNoDeadline);
  const std::lock_guard lock(mutex_);
  return function->order == Function::Order::kNone ? function->order_status : closed();
}

Status Lane::warm(const std::shared_ptr<Function>& function) {
  return ask(function, Function::Order::kWarm);
}

Status Lane::cool(const std::shared_ptr<Function>& function) {
  return ask(function, Function::Order::kCool);
}

void Lane::remove(const std::shared_ptr<Function>& function) {
  with_lock(mutex_, [&] { function->is_removed = true; });
  // is_removed is set first, so no request can enter behind the cancellation.
  cancel_all(function.get(), removed(function->name));
  (void)ask(function, Function::Order::kRemove);  // a lane that is shut down holds nothing
}

terms::FunctionState Lane::state(const Function& function) const {
  // Before the lock: statistics() takes it, too.
  const std::int64_t num_joined = function.joining ? statistics(function).joined : 0;
  const std::lock_guard lock(mutex_);
  terms::FunctionState state = function.state;
  state.options = function.options;
  state.num_joined = num_joined;
  if (function.work == Function::Work::kTurn) {
    state.phase = terms::FunctionPhase::kRunning;
  } else {
    state.phase = function.model ? terms::FunctionPhase::kWarm : terms::FunctionPhase::kCold;
  }
  return state;
}

terms::ModelInfo Lane::info(const Function& function) const {
  const std::lock_guard lock(mutex_);
  terms::ModelInfo info = function.info;
  info.name = function.name;
  info.group = group_;
  info.phase = terms::ModelPhase::kStarted;  // it takes requests, cold or warm
  info.depth = function.load.depth;
  info.queue_limit = function.queue_limit;
  info.footprint = function.footprint;
  if (!function.model) info.slots_bytes = 0;
  return info;
}

runtime::ModelStatisticsSnapshot Lane::statistics(const Function& function) const {
  std::optional<terms::ModelHandle> model;
  runtime::ModelStatisticsSnapshot sum;
  std::int64_t num_waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    model = function.model;
    sum = function.retired;
    num_waiting = static_cast<std::int64_t>(function.line.size());
  }
  if (model) {
    // Without mutex_: the host has locks of its own.
    const auto now = host_.models->statistics(*model);
    if (now.is_ok()) sum.merge(*now);  // else it was unloaded meanwhile
  }
  sum.waiting = num_waiting;
  return sum;
}

terms::Health Lane::health(const Function& function) const {
  const auto model = with_lock(mutex_, [&] { return function.model; });
  if (model) {
    const auto now = host_.models->health(*model);
    if (now.is_ok() && now->state != terms::HealthState::kHealthy) return *now;
  }
  return runtime::health_of(statistics(function), /*has_failed=*/false);
}

// ---- requests

std::string Lane::subject(const Function& function) {
  return fmt::format("function \"{}\"", function.name);
}

Status Lane::cancelled(const Function& function) {
  return runtime_error(RuntimeCode::kCancelled, "function \"{}\": the request was cancelled",
                       function.name);
}

/// Requires: `mutex_` is held.
bool Lane::has_no_place(const Function& function) {
  return static_cast<int>(function.line.size()) >= function.queue_limit + function.load.depth;
}

bool Lane::is_full(const Function& function) const {
  const std::lock_guard lock(mutex_);
  return has_no_place(function);
}

Status Lane::check(const Function& function, const Request& request) const {
  if (function.is_removed) return removed(function.name);
  if (is_closed_) return closed();
  const std::int64_t now_ns = clock_.now_ns();
  if (request.deadline_ns <= now_ns) {
    return runtime_error(RuntimeCode::kTimeout, "function \"{}\": the deadline has passed",
                         function.name);
  }
  const int num_waiting = static_cast<int>(function.line.size());
  if (has_no_place(function)) {
    return runtime::queue_full(function.name, num_waiting, function.queue_limit,
                               function.forecast.retry_after_ns(num_waiting));
  }
  const bool is_busy = num_waiting > 0 || function.work == Function::Work::kTurn;
  const std::int64_t wait_ns =
      is_busy ? function.forecast.wait_ns(function.line.num_ahead(request), now_ns) : 0;
  if (!function.forecast.is_hopeless(request, wait_ns, now_ns)) return ok_status();
  return function.forecast.too_late(subject(function), request, wait_ns, now_ns);
}

Result<std::uint64_t> Lane::submit(const std::shared_ptr<Function>& function, Request& request) {
  const bool will_wait = request.will_wait;
  request.limit(clock_, function->load.request_timeout_ns);
  auto pending = std::make_shared<Pending>();
  {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(check(*function, request));
    pending->id = next_id_++;
    pending->function = function;
    const std::int64_t now_ns = clock_.now_ns();
    const bool is_running = function->work == Function::Work::kTurn;
    if (function->line.empty() && !is_running) function->forecast.resume(now_ns);
    pending->request = std::move(request);
    if (pending->request.since_ns == 0) pending->request.since_ns = now_ns;
    pending->on_done = std::move(pending->request.on_done);
    function->line.push({pending->request, pending->id}, std::uint64_t{pending->id});
    next_deadline_ns_ = std::min(next_deadline_ns_, pending->request.deadline_ns);
    pending_.emplace(pending->id, pending);
    ++function->state.num_requests;
    note_waiting(*function);
  }
  // A caller who waits drives the lane itself; waking the thread would cost a switch.
  if (!will_wait) driver_->notify();
  return pending->id;
}

/// Requires: `mutex_` is held, and the request is waiting.
void Lane::leave_line(Pending& pending) {
  Function& function = *pending.function;
  static_cast<void>(function.line.take(pending.id));
  pending.is_waiting = false;
  if (!function.line.empty()) return;
  note_waiting(function);
  note_cooling(function);
}

/// Whether the function could have a turn. Requires: `mutex_` is held.
void Lane::note_waiting(const Function& function) {
  const bool is_free =
      function.work == Function::Work::kNone && function.order == Function::Order::kNone;
  shares_.set_waiting(function.id, is_free && !function.line.empty());
}

/// Requires: `mutex_` is held.
void Lane::note_cooling(const Function& function) {
  next_cooling_ns_ = std::min(next_cooling_ns_, cools_at_ns(function));
}

const void* Lane::left_on(const Function& function) const {
  const std::lock_guard lock(mutex_);
  return function.sink == nullptr ? nullptr : function.sink->left_on();
}

bool Lane::cancel(std::uint64_t id) {
  std::shared_ptr<Pending> pending;
  std::shared_ptr<runtime::RequestSink> sink;
  bool is_claimed = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = pending_.find(id);
    if (it == pending_.end()) return false;
    pending = it->second;
    is_claimed = pending->is_waiting;
    if (pending->is_waiting) leave_line(*pending);
    // Whoever erases the entry answers the request: exactly one of cancel, answer and refuse does.
    if (is_claimed) pending_.erase(it);
    pending->is_cancelled = true;
    sink = pending->sink;
  }
  // A request between the line and the model's acceptance is cancelled by the step.
  if (is_claimed) deliver(*pending, runtime::failed_reply(cancelled(*pending->function)));
  if (sink != nullptr) sink->cancel(pending->inner_id);
  return true;
}

/// Cancels requests of one function; null: of all.
void Lane::cancel_all(const Function* function, const Status& why) {
  Turn waiting;
  std::vector<std::uint64_t> running;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, pending] : pending_) {
      if (function != nullptr && pending->function.get() != function) continue;
      if (pending->is_waiting) {
        waiting.push_back(pending);
      } else {
        running.push_back(id);
      }
    }
    for (const auto& pending : waiting) leave_line(*pending);
  }
  for (const auto& pending : waiting) refuse(*pending, why);
  for (const std::uint64_t id : running) cancel(id);
}

bool Lane::claim(Pending& pending) {
  const std::lock_guard lock(mutex_);
  return pending_.erase(pending.id) > 0;
}

void Lane::answer(Pending& pending, Reply reply) {
  if (claim(pending)) deliver(pending, std::move(reply));
}

/// Requires: the caller has claimed the request.
void Lane::deliver(Pending& pending, Reply reply) {
  // Called without mutex_: it may submit to this lane again.
  const auto on_done = std::move(pending.on_done);
  if (on_done) on_done(std::move(reply));
  tell_waiters();
}

void Lane::refuse(Pending& pending, const Status& why) {
  answer(pending, runtime::failed_reply(why));
}

void Lane::shutdown(std::int64_t drain_deadline_ns) {
  const std::lock_guard once(shutdown_mutex_);
  if (std::exchange(is_shut_down_, true)) return;
  with_lock(mutex_, [&] { is_closed_ = true; });
  const auto is_empty = [this] {
    const std::lock_guard lock(mutex_);
    return pending_.empty();
  };
  if (clock_.now_ns() < drain_deadline_ns) wait(is_empty, drain_deadline_ns);
  cancel_all(nullptr, closed());
  with_lock(mutex_, [&] { is_over_ = true; });
  ends_.notify_all();
  tell_waiters();
  const auto is_still = [this] {
    const std::lock_guard lock(mutex_);
    return num_stepping_ == 0;
  };
  // A step that has begun may still touch functions and their models.
  wait(is_still, kNoDeadline);
  for (const auto& [id, function] : functions_) {
    if (function->model) unload(*function);
  }
  (void)host_.destroy_group(group_);  // a host that was shut down first has destroyed it
}

}  // namespace sluice::sandbox
