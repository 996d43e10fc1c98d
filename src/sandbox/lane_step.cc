// The steps of a Lane.
#include <algorithm>
#include <utility>

#include "runtime/packages/package_cache.h"
#include "sandbox/lane.h"

namespace sluice::sandbox {

using terms::runtime_error;

namespace {

/// How long a turn waits for its cell to be restarted, looking this often.
constexpr std::int64_t kRecoveryLimitNs = 10'000'000'000;
constexpr std::int64_t kRecoveryStepNs = 1'000'000;
/// A function whose load ends the cell gets so many cells in a turn.
constexpr int kMaxLives = 3;

}  // namespace

runtime::StepResult Lane::step(std::int64_t now_ns) {
  runtime::StepResult result;
  bool is_over = false;
  {
    Lock lock(mutex_);
    if (is_over_) return result;
    ++num_stepping_;
    result.has_moved = expire(lock) || obey(lock) || cool_idle(lock) || take_turn(lock);
    result.next_deadline_ns = next_event_ns();
    // Another thread may have found no work here while this one had its function, and sleep.
    result.is_running = shares_.next() || next_to_obey() != nullptr;
    --num_stepping_;
    is_over = is_over_;
  }
  if (result.has_moved) result.longest_stage_ns = clock_.now_ns() - now_ns;
  if (result.has_moved || is_over) tell_waiters();
  return result;
}

/// This step has the function until `release`. Requires, here and there: `mutex_` is held.
void Lane::hold(Function& function, Function::Work work) {
  function.work = work;
  if (work == Function::Work::kTurn) shares_.begin_run(function.id);
  note_waiting(function);
}

void Lane::release(Function& function) {
  const auto work = std::exchange(function.work, Function::Work::kNone);
  note_waiting(function);
  // Last: a function that runs keeps what its share is behind.
  if (work == Function::Work::kTurn) shares_.end_run(function.id);
  note_cooling(function);
}

/// Answers waiting requests whose deadline has passed. Whether there was one.
bool Lane::expire(Lock& lock) {
  const std::int64_t now_ns = clock_.now_ns();
  if (next_deadline_ns_ > now_ns) return false;
  Turn late;
  next_deadline_ns_ = kNoDeadline;
  for (const auto& [id, function] : functions_) {
    for (const std::uint64_t request : function->line.take_expired(now_ns)) {
      late.push_back(pending_.at(request));
      leave_line(*late.back());
    }
    next_deadline_ns_ = std::min(next_deadline_ns_, function->line.next_deadline_ns());
  }
  lock.unlock();
  for (const auto& pending : late) {
    refuse(*pending, runtime_error(RuntimeCode::kTimeout,
                                   "function \"{}\": the deadline passed while the request waited",
                                   pending->function->name));
  }
  lock.lock();
  return !late.empty();
}

/// The first function with an order that no step has; null: there is none.
std::shared_ptr<Function> Lane::next_to_obey() const {
  if (num_orders_ == 0) return nullptr;
  const auto it = std::ranges::find_if(functions_, [](const auto& entry) {
    return entry.second->order != Function::Order::kNone &&
           entry.second->work == Function::Work::kNone;
  });
  return it == functions_.end() ? nullptr : it->second;
}

/// Does what another thread waits for. Whether there was such an order.
bool Lane::obey(Lock& lock) {
  const std::shared_ptr<Function> function = next_to_obey();
  if (function == nullptr) return false;
  const Function::Order order = function->order;
  hold(*function, Function::Work::kChange);
  lock.unlock();
  Status status = ok_status();
  if (order == Function::Order::kWarm) {
    status = in_some_life([&] { return make_warm(*function); });
  } else if (function->model) {
    unload(*function);
  }
  lock.lock();
  function->last_used_ns = clock_.now_ns();
  function->order_status = status;
  function->order = Function::Order::kNone;
  --num_orders_;
  release(*function);
  if (order == Function::Order::kRemove) {
    shares_.remove(function->id);
    functions_.erase(function->id);
  }
  return true;
}

/// Unloads a function whose keep-warm time is over. Whether there was one.
bool Lane::cool_idle(Lock& lock) {
  const std::int64_t now_ns = clock_.now_ns();
  if (next_cooling_ns_ > now_ns) return false;
  const auto it = std::ranges::find_if(
      functions_, [&](const auto& entry) { return cools_at_ns(*entry.second) <= now_ns; });
  if (it == functions_.end()) {
    next_cooling_ns_ = kNoDeadline;
    for (const auto& [id, function] : functions_) note_cooling(*function);
    return false;
  }
  const std::shared_ptr<Function> function = it->second;
  hold(*function, Function::Work::kChange);
  lock.unlock();
  unload(*function);
  lock.lock();
  release(*function);
  return true;
}

std::int64_t Lane::next_event_ns() const { return std::min(next_cooling_ns_, next_deadline_ns_); }

/// The function that gets the next turn; null: none has requests. Shared: a removal by another
/// thread waits for this one, but the map may not change under a reference.
std::shared_ptr<Function> Lane::next_function() const {
  const auto next = shares_.next();
  return next ? functions_.at(*next) : nullptr;
}

/// Answers waiting requests of the function that have too little time left. Whether there was one.
bool Lane::drop_late(Function& function, Lock& lock) {
  const std::int64_t now_ns = clock_.now_ns();
  const auto request_of = [this](std::uint64_t id) -> const runtime::Request& {
    return pending_.at(id)->request;
  };
  std::vector<std::pair<std::shared_ptr<Pending>, Status>> late;
  for (const std::uint64_t id :
       runtime::take_late(function.line, function.forecast, now_ns, request_of)) {
    const auto& pending = pending_.at(id);
    leave_line(*pending);
    late.emplace_back(pending,
                      function.forecast.too_late(subject(function), pending->request, 0, now_ns));
  }
  if (late.empty()) return false;
  lock.unlock();
  for (const auto& [pending, why] : late) refuse(*pending, why);
  lock.lock();
  return true;
}

/// Whether a function had requests.
bool Lane::take_turn(Lock& lock) {
  const std::shared_ptr<Function> next = next_function();
  if (next == nullptr) return false;
  Function& function = *next;
  if (drop_late(function, lock)) return true;
  hold(function, Function::Work::kTurn);
  const Turn turn = take(function);
  lock.unlock();
  const std::int64_t start_ns = clock_.now_ns();
  const Status ready = in_some_life([&] { return make_active(function); });
  bool is_suspect = false;
  if (ready.is_ok()) {
    is_suspect = run_turn(turn);
  } else {
    for (const auto& pending : turn) refuse(*pending, ready);
  }
  const std::int64_t end_ns = clock_.now_ns();
  lock.lock();
  function.is_suspect = is_suspect;
  function.last_used_ns = end_ns;
  function.state.busy_ns += end_ns - start_ns;
  shares_.charge(function.id, end_ns - start_ns);
  release(function);
  return true;
}

/// Does what a death of the host's process interrupts again in the next life.
Status Lane::in_some_life(const std::function<Status()>& action) {
  Status status = ok_status();
  for (int i = 0; i < kMaxLives; ++i) {
    const HostLife life = SLUICE_TRY(await_host());
    if (life_ != life.number) {
      learn_phases();
      life_ = life.number;
    }
    status = action();
    const HostLife now = host_.life(group_);
    if (status.is_ok() || (now.state == HostLife::State::kServes && now.number == life.number)) {
      break;
    }
  }
  return status;
}

/// Fails: as `revive`; kUnavailable if the restart takes too long.
Result<HostLife> Lane::await_host() {
  const std::int64_t deadline_ns = clock_.now_ns() + kRecoveryLimitNs;
  while (true) {
    const HostLife life = host_.life(group_);
    if (life.state == HostLife::State::kServes) return life;
    if (clock_.now_ns() >= deadline_ns) {
      return runtime_error(RuntimeCode::kDeviceError,
                           "the function's cell is being restarted; try again");
    }
    if (life.state == HostLife::State::kFailed) SLUICE_TRY(host_.revive(group_));
    Lock lock(mutex_);
    if (is_over_) return closed();
    clock_.wait_until(lock, ends_, clock_.now_ns() + kRecoveryStepNs);
  }
}

/// After a death: finds the active model again, and unloads what the host could not restore.
void Lane::learn_phases() {
  std::vector<std::shared_ptr<Function>> warm;
  {
    const Lock lock(mutex_);
    for (const auto& [id, function] : functions_) {
      if (function->model) warm.push_back(function);
    }
  }
  active_ = nullptr;
  for (const auto& function : warm) {
    if (phase_in_host(*function) == terms::ModelPhase::kStarted) active_ = function.get();
    recover(*function);
  }
}

Status Lane::make_warm(Function& function) {
  if (function.model && function.is_suspect) recover(function);
  return function.model ? ok_status() : load(function);
}

/// The function's model is the active one of the group, or runs beside others.
Status Lane::make_active(Function& function) {
  SLUICE_TRY(make_warm(function));
  if (function.load.cores_beside_others > 0 || active_ == &function) return ok_status();
  if (active_ != nullptr) {
    // The turn of the active one is over: nothing is left to cancel.
    const Status stopped = host_.models->stop(*active_->model, 0);
    if (!stopped.is_ok() && !has_failed(*active_)) return stopped;
    active_ = nullptr;
  }
  SLUICE_TRY(host_.models->start(*function.model));
  active_ = &function;
  return ok_status();
}

/// In this life: of the next one's failures the lane learns all together.
bool Lane::has_failed(const Function& function) const {
  return host_.life(group_).number == life_ &&
         phase_in_host(function) == terms::ModelPhase::kFailed;
}

/// Requires: the function has a model.
terms::ModelPhase Lane::phase_in_host(const Function& function) const {
  const auto info = host_.models->info(*function.model);
  return info.is_ok() ? info->phase : terms::ModelPhase::kFailed;
}

/// A model that failed is loaded anew. Requires: the function has a model.
void Lane::recover(Function& function) {
  if (phase_in_host(function) != terms::ModelPhase::kFailed) return;
  (void)host_.models->reset(*function.model);  // without success the load fails and says why
  unload(function);
  if (function.load.package != nullptr) function.load.package->forget_ready();
}

Status Lane::load(Function& function) {
  const std::int64_t start_ns = clock_.now_ns();
  auto model = host_.models->load(function.load, {});
  while (!model.is_ok() && terms::runtime_code_of(model.status()) == RuntimeCode::kOutOfResources &&
         make_room()) {
    model = host_.models->load(function.load, {});
  }
  SLUICE_TRY(Status(model.status()));
  auto info = host_.models->info(*model);
  auto sink = host_.models->sink(*model);
  Status status = info.is_ok() ? check_quota(function, *info) : info.status();
  if (status.is_ok()) status = sink.status();
  if (!status.is_ok()) {
    (void)host_.models->unload(*model, 0);  // nobody else knows it
    return status;
  }
  const std::lock_guard lock(mutex_);
  function.model = *model;
  function.sink = std::move(*sink);
  function.info = std::move(*info);
  function.state.held_bytes = function.info.footprint.constants_bytes +
                              function.info.footprint.packed_bytes + function.info.slots_bytes;
  function.state.last_start_ns = clock_.now_ns() - start_ns;
  ++function.state.num_starts;
  return ok_status();
}

Status Lane::check_quota(const Function& function, const terms::ModelInfo& info) const {
  const std::int64_t quota = function.options.memory_bytes;
  const std::int64_t held =
      info.footprint.constants_bytes + info.footprint.packed_bytes + info.slots_bytes;
  if (quota == 0 || held <= quota) return ok_status();
  return runtime_error(RuntimeCode::kOutOfResources,
                       "function \"{}\" takes {} bytes, its quota is {}; deploy it with a larger "
                       "quota or a smaller depth",
                       function.name, held, quota);
}

/// Unloads the least recently used warm function that no step has. False if there is none.
bool Lane::make_room() {
  std::shared_ptr<Function> victim;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, function] : functions_) {
      if (!function->model || function->work != Function::Work::kNone) continue;
      if (victim == nullptr || function->last_used_ns < victim->last_used_ns) victim = function;
    }
    if (victim == nullptr) return false;
    hold(*victim, Function::Work::kChange);
  }
  unload(*victim);
  const std::lock_guard lock(mutex_);
  release(*victim);
  return true;
}

void Lane::unload(Function& function) {
  const terms::ModelHandle model = *function.model;
  auto last = host_.models->statistics(model);
  {
    const std::lock_guard lock(mutex_);
    if (last.is_ok()) function.retired.merge(*last);
    function.model = std::nullopt;
    function.sink = nullptr;
    function.state.held_bytes = 0;
  }
  if (active_ == &function) active_ = nullptr;
  (void)host_.models->unload(model, 0);  // a host that was shut down has unloaded it
}

}  // namespace sluice::sandbox
