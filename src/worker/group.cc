#include "worker/group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"
#include "base/text/plural.h"
#include "terms/load_json.h"
#include "worker/protocol/profile_pages.h"

namespace sluice::worker {

using nlohmann::json;
using runtime::ModelAction;
using terms::ModelPhase;

namespace {

/// Loads have no timeout: a large package takes minutes, and the caller can stop a load.
constexpr std::int64_t kNever = kNoDeadline;
/// Beyond the drain and the hang limit, which the worker itself keeps.
constexpr std::int64_t kGraceNs = 10'000'000'000;
/// The restart of a worker that was ready is immediate. Where one died before, the supervisor waits
/// this long after the second death in a row, and twice as long after each further death.
constexpr std::int64_t kFirstBackoffNs = 50'000'000;
constexpr std::int64_t kMaxBackoffNs = 5'000'000'000;
/// From here on a worker that does not answer is reported.
constexpr std::int64_t kNotableSilenceNs = 1'000'000'000;
/// Limit of a model's name, so that a load fits a message of the channel.
constexpr std::size_t kMaxNameBytes = 200;

}  // namespace

Result<std::shared_ptr<WorkerGroup>> WorkerGroup::create(GroupOptions options) {
  std::shared_ptr<WorkerGroup> group(new WorkerGroup(std::move(options)));
  group->slot_->clear(terms::runtime_error(RuntimeCode::kDeviceError, "{} starts; try again",
                                           group->options_.link.name));
  group->supervisor_ = SLUICE_TRY(start_thread([raw = group.get()] { raw->supervise(); }));
  std::unique_lock lock(group->mutex_);
  group->changed_.wait(lock, [&] { return group->state_ != State::kStarting; });
  if (group->state_ == State::kReady || group->state_ == State::kRestarting) return group;
  Status reason = group->reason_;
  lock.unlock();
  group->close();
  return reason;
}

WorkerGroup::~WorkerGroup() { close(); }

void WorkerGroup::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    if (link_ != nullptr) link_->kill();  // ends the calls that wait for the worker
  }
  changed_.notify_all();
  if (supervisor_.joinable()) supervisor_.join();
}

// ---- supervision

/// Every worker is a child of this thread and dies with it (PR_SET_PDEATHSIG), so a worker never
/// outlives its supervisor.
void WorkerGroup::supervise() {
  while (live_once() && wait_before_restart()) {
  }
  if (spare_) spare_->link->close();
  const std::lock_guard lock(mutex_);
  state_ = State::kClosed;
  changed_.notify_all();
}

void WorkerGroup::tell(const std::string& event) const {
  if (options_.on_event) options_.on_event(event);
}

/// Whether to try again. A group whose first worker did not start fails in `create`.
bool WorkerGroup::start_failed(const Status& why) {
  const bool is_first = with_lock(mutex_, [&] { return state_ == State::kStarting; });
  set_state(is_first ? State::kFailed : State::kRestarting, why);
  return !is_first;
}

Result<WorkerGroup::Life> WorkerGroup::start_life() {
  const auto flags = std::make_shared<Life::Flags>();
  const auto on_death = [this, flags](const Status& cause) {
    const std::lock_guard lock(mutex_);
    flags->is_dead = true;
    if (!flags->is_current) return;  // a spare: missed when it is needed
    slot_->clear(cause);
    is_dead_ = true;
    reason_ = cause;
    changed_.notify_all();
  };
  return Life{SLUICE_TRY(WorkerLink::start(options_.link, on_death)), flags};
}

/// The spare if it lives, else a new worker. Its death is the group's from now on.
Result<std::shared_ptr<WorkerLink>> WorkerGroup::next_link() {
  std::optional<Life> life = std::exchange(spare_, std::nullopt);
  while (true) {
    if (!life) life = SLUICE_TRY(start_life());
    {
      const std::lock_guard lock(mutex_);
      if (!life->flags->is_dead) {
        life->flags->is_current = true;
        link_ = life->link;
        was_ready_ = false;
        if (is_closing_) link_->kill();
        return life->link;
      }
    }
    life->link->close();
    life.reset();
  }
}

/// Costs the supervisor the start of a process; a death meanwhile is seen afterwards.
void WorkerGroup::make_spare() {
  if (!options_.has_spare || spare_) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_dead_ || is_closing_) return;
  }
  auto life = start_life();
  if (life.is_ok()) spare_ = std::move(*life);  // else the next death tries again
}

/// Runs one worker from start to death. False if the group is closing or failed.
bool WorkerGroup::live_once() {
  const auto link = next_link();
  if (!link.is_ok()) return start_failed(link.status());
  restore(**link);
  make_spare();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_dead_ || is_closing_; });
  const bool is_over = is_closing_;
  link_ = nullptr;
  is_dead_ = false;
  if (!is_over) state_ = State::kRestarting;
  slot_->clear(is_over ? terms::runtime_error(RuntimeCode::kInvalidHandle, "{} was ended",
                                              options_.link.name)
                       : reason_);
  lock.unlock();
  (*link)->close();
  return !is_over;
}

void WorkerGroup::restore(WorkerLink& link) {
  const std::lock_guard change(change_mutex_);
  for (const auto& model : models_) {
    const Status status = restore(link, *model);
    if (link.is_dead()) return;  // the next worker restores the models in the same phases
    if (!status.is_ok()) model->set_phase(ModelPhase::kFailed, status.message());
  }
  // Requests reach the worker from here on. If it died meanwhile, the slot keeps the cause.
  const std::lock_guard lock(mutex_);
  if (is_dead_ || is_closing_) return;
  slot_->set(link.shared_from_this());
  state_ = State::kReady;
  was_ready_ = true;
  changed_.notify_all();
}

Status WorkerGroup::restore(WorkerLink& link, RemoteModel& model) {
  const RemoteModel::Parts& parts = model.parts();
  model.set_worker_model(0);  // of nobody, should this fail
  const json loaded = SLUICE_TRY(
      link.call(load_message(parts.load, parts.keeps_code), parts.package.get(), kNever));
  const auto number =
      SLUICE_TRY(JsonValue(loaded, "").int_or("model", 0, 1, std::int64_t{1} << 62));
  model.set_worker_model(static_cast<std::uint64_t>(number));
  if (model.phase() != ModelPhase::kStarted) return ok_status();
  const Status status = link.call({{"op", "start_model"}, {"model", number}}, -1, kNever).status();
  return status;
}

/// Backs off, or waits for a reset if the worker died too often. False if the group is closing.
bool WorkerGroup::wait_before_restart() {
  const std::int64_t now_ns = system_clock().now_ns();
  std::unique_lock lock(mutex_);
  if (is_closing_) return false;
  deaths_ns_.push_back(now_ns);
  while (deaths_ns_.front() < now_ns - options_.restart_window_ns) deaths_ns_.pop_front();
  const std::string reason = reason_.message();
  lock.unlock();
  tell(reason);
  lock.lock();
  const auto num_deaths = static_cast<std::int64_t>(deaths_ns_.size());
  if (num_deaths > options_.max_restarts) {
    lock.unlock();
    fail_models(
        fmt::format("{} died {} in a short time; reset a model of the group, or "
                    "destroy it",
                    options_.link.name, counted(num_deaths, "time")));
    lock.lock();
    changed_.wait(lock, [&] { return is_closing_ || wants_reset_; });
    wants_reset_ = false;
    deaths_ns_.clear();
  } else if (num_deaths > 1 && !was_ready_) {
    const std::int64_t backoff_ns =
        std::min(kMaxBackoffNs, kFirstBackoffNs << std::min<std::int64_t>(num_deaths - 2, 10));
    changed_.wait_for(lock, std::chrono::nanoseconds(backoff_ns), [&] { return is_closing_; });
  }
  if (is_closing_) return false;
  ++num_restarts_;
  return true;
}

void WorkerGroup::set_state(State state, const Status& why) {
  slot_->clear(why);
  const std::lock_guard lock(mutex_);
  state_ = state;
  reason_ = why;
  changed_.notify_all();
}

void WorkerGroup::fail_models(const std::string& why) {
  const std::lock_guard change(change_mutex_);
  for (const auto& model : models_) model->set_phase(ModelPhase::kFailed, why);
  set_state(State::kFailed, terms::runtime_error(RuntimeCode::kDeviceError, "{}", why));
  tell(why);
}

terms::WorkerInfo WorkerGroup::info() const {
  const std::lock_guard lock(mutex_);
  terms::WorkerInfo info;
  info.isolation = terms::Isolation::kProcess;
  info.process = link_ == nullptr ? -1 : link_->process();
  info.num_restarts = num_restarts_;
  switch (state_) {
    case State::kStarting: info.state = "starting"; break;
    case State::kReady: info.state = is_dead_ ? "restarting" : "ready"; break;
    case State::kRestarting: info.state = "restarting"; break;
    case State::kFailed: info.state = "failed"; break;
    case State::kClosed: info.state = "ended"; break;
  }
  if (!reason_.is_ok()) info.reason = reason_.message();
  const std::int64_t silent_ns = link_ == nullptr ? 0 : link_->silent_ns();
  if (info.state == "ready" && silent_ns >= kNotableSilenceNs) {
    info.state = "silent";
    info.reason = fmt::format("{} has not answered for {} s", options_.link.name,
                              silent_ns / kNotableSilenceNs);
  }
  return info;
}

// ---- models

std::string WorkerGroup::active_model() const {
  const std::lock_guard lock(mutex_);
  const auto last = last_.lock();
  return last != nullptr && last->phase() == ModelPhase::kStarted ? last->name() : std::string();
}

std::int64_t WorkerGroup::num_switches() const { return num_switches_; }

json WorkerGroup::load_message(const terms::LoadOptions& load, bool keeps_code) {
  json message = terms::to_json(load);
  message["keeps_code"] = keeps_code;
  message["op"] = "load";
  message["name"] = load.name.substr(0, kMaxNameBytes);
  return message;
}

Result<json> WorkerGroup::ask(json message, int fd, std::int64_t timeout_ns,
                              const std::stop_token& stop) {
  const auto link = SLUICE_TRY(slot_->get());
  return link->call(std::move(message), fd, timeout_ns, stop);
}

Status WorkerGroup::ask_about(const RemoteModel& model, const char* op, std::int64_t drain_ns) {
  const std::int64_t drain = std::max<std::int64_t>(drain_ns, 0);
  return ask({{"op", op}, {"model", model.worker_model()}, {"drain_ns", drain}}, -1,
             drain + options_.hang_limit_ns + kGraceNs)
      .status();
}

Result<std::shared_ptr<RemoteModel>> WorkerGroup::load(
    const terms::LoadOptions& load, int package, bool keeps_code, const std::stop_token& stop,
    const std::function<std::shared_ptr<RemoteModel>(const json&)>& make) {
  const std::lock_guard change(change_mutex_);
  const json loaded = SLUICE_TRY(ask(load_message(load, keeps_code), package, kNever, stop));
  const auto number =
      SLUICE_TRY(JsonValue(loaded, "").int_or("model", 0, 1, std::int64_t{1} << 62));
  auto model = make(loaded);
  model->set_worker_model(static_cast<std::uint64_t>(number));
  models_.push_back(model);
  return model;
}

Status WorkerGroup::start(RemoteModel& model) {
  const std::lock_guard change(change_mutex_);
  const ModelPhase next = SLUICE_TRY(next_phase(model.phase(), ModelAction::kStart)
                                         .with_context(fmt::format("model \"{}\"", model.name())));
  SLUICE_TRY(ask_about(model, "start_model", 0));
  model.count_start();
  model.set_phase(next);
  const std::lock_guard lock(mutex_);
  const auto last = last_.lock();
  if (last != nullptr && last.get() != &model) ++num_switches_;
  last_ = model.weak_from_this();
  return ok_status();
}

Status WorkerGroup::stop(RemoteModel& model, std::int64_t drain_ns) {
  const std::lock_guard change(change_mutex_);
  const ModelPhase next = SLUICE_TRY(next_phase(model.phase(), ModelAction::kStop)
                                         .with_context(fmt::format("model \"{}\"", model.name())));
  const auto link = SLUICE_TRY(slot_->get());
  const Status status = ask_about(model, "stop", drain_ns);
  const bool is_of_device = terms::runtime_code_of(status) == RuntimeCode::kDeviceError;
  if (is_of_device && !link->is_dead()) model.set_phase(ModelPhase::kFailed, status.message());
  SLUICE_TRY(Status(status));
  model.set_phase(next);
  return ok_status();
}

/// `change_mutex_` is free while this waits, because the supervisor needs it to restore the models.
Status WorkerGroup::revive() {
  {
    const std::lock_guard change(change_mutex_);
    const std::lock_guard lock(mutex_);
    if (state_ == State::kFailed) {  // else another caller was quicker
      for (const auto& model : models_) model->set_phase(ModelPhase::kStopped);
      state_ = State::kRestarting;
      wants_reset_ = true;
    }
  }
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  changed_.wait(lock,
                [&] { return state_ == State::kReady || state_ == State::kFailed || is_closing_; });
  return state_ == State::kReady ? ok_status() : reason_;
}

Status WorkerGroup::reset(RemoteModel& model) {
  const ModelPhase next = SLUICE_TRY(next_phase(model.phase(), ModelAction::kReset)
                                         .with_context(fmt::format("model \"{}\"", model.name())));
  const bool has_group_failed = with_lock(mutex_, [&] { return state_ == State::kFailed; });
  if (has_group_failed) return revive();
  const std::lock_guard change(change_mutex_);
  if (model.worker_model() != 0) {
    SLUICE_TRY(ask_about(model, "reset", 0));
  } else {
    const auto link = SLUICE_TRY(slot_->get());  // the model's last load failed
    SLUICE_TRY(restore(*link, model));
  }
  model.set_phase(next);
  return ok_status();
}

Result<WorkerGroup::Recording> WorkerGroup::start_profile(const terms::ProfileSettings& settings,
                                                          const RemoteModel* model) {
  const auto link = SLUICE_TRY(slot_->get());
  const json reply = SLUICE_TRY(link->call({{"op", "start_profile"},
                                            {"model", model == nullptr ? 0 : model->worker_model()},
                                            {"limit_ns", settings.limit_ns},
                                            {"max_spans", settings.max_spans}},
                                           -1, kGraceNs));
  const auto profile =
      SLUICE_TRY(JsonValue(reply, "").int_or("profile", 0, 0, std::int64_t{1} << 62));
  return Recording{link, static_cast<std::uint64_t>(profile), settings.max_spans};
}

Result<terms::Profile> WorkerGroup::stop_profile(const Recording& recording) {
  const auto link = recording.link.lock();
  if (link == nullptr) {
    return terms::runtime_error(RuntimeCode::kDeviceError,
                                "the worker that recorded the profile died");
  }
  ProfileReader reader(recording.max_spans);
  for (bool is_last = false; !is_last;) {
    const json page =
        SLUICE_TRY(link->call({{"op", "next_page"}, {"profile", recording.profile}}, -1, kGraceNs));
    is_last = SLUICE_TRY(reader.add(page));
  }
  return reader.take();
}

void WorkerGroup::drop_profile(const Recording& recording) {
  const auto link = recording.link.lock();
  if (link == nullptr) return;
  // A dead worker has no profile.
  (void)link->call({{"op", "drop_profile"}, {"profile", recording.profile}}, -1, kGraceNs);
}

void WorkerGroup::unload(const std::shared_ptr<RemoteModel>& model, std::int64_t drain_ns) {
  const std::lock_guard change(change_mutex_);
  model->set_phase(ModelPhase::kUnloaded);
  (void)ask_about(*model, "unload", drain_ns);  // a dead worker holds no model
  model->retire();
  std::erase(models_, model);
}

}  // namespace sluice::worker
