#include "worker/remote_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process/with_lock.h"
#include "base/text/plural.h"
#include "worker/protocol/answer_room.h"

namespace sluice::worker {

using runtime::Reply;
using terms::ModelPhase;

RemoteModel::RemoteModel(Parts parts)
    : parts_(std::move(parts)),
      statistics_(std::make_shared<runtime::ModelStatistics>(
          std::vector<std::vector<runtime::LaneCores>>{parts_.cores})),
      room_bytes_(first_room_bytes(parts_.signature)) {
  set_phase(ModelPhase::kLoaded);
}

terms::ModelInfo RemoteModel::info() const {
  terms::ModelInfo info = parts_.info;
  info.phase = phase();
  return info;
}

ModelPhase RemoteModel::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

void RemoteModel::set_phase(ModelPhase phase, const std::string& why) {
  const std::string& name = parts_.info.name;
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  switch (phase) {
    case ModelPhase::kStarted: refusal_ = ok_status(); break;
    case ModelPhase::kLoaded:
      refusal_ = terms::runtime_error(RuntimeCode::kFailed,
                                      "model \"{}\" is not started; start it first", name);
      break;
    case ModelPhase::kStopped:
      refusal_ = terms::runtime_error(RuntimeCode::kFailed,
                                      "model \"{}\" is stopped; start it first", name);
      break;
    case ModelPhase::kFailed:
      refusal_ =
          terms::runtime_error(RuntimeCode::kModelFailed, "model \"{}\" has failed: {}", name, why);
      break;
    case ModelPhase::kUnloaded:
      refusal_ =
          terms::runtime_error(RuntimeCode::kInvalidHandle, "model \"{}\" is unloaded", name);
      break;
  }
}

void RemoteModel::retire() {
  set_phase(ModelPhase::kUnloaded);
  std::vector<std::uint64_t> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, flight] : flights_) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) cancel(id);
  parts_.package = shm::Fd();
  parts_.memory.clear();
}

// ---- requests

Status RemoteModel::check(const runtime::Request& request) const {
  const std::size_t expected = parts_.signature.inputs.size();
  if (request.inputs.size() != expected) {
    return terms::runtime_error(RuntimeCode::kBadInput, "model \"{}\" takes {}, got {}",
                                parts_.info.name, counted(expected, "input"),
                                request.inputs.size());
  }
  for (const terms::OutputMemory& output : request.outputs) {
    if (output.data == nullptr) continue;
    return terms::runtime_error(
        RuntimeCode::kInvalid,
        "model \"{}\" runs in a worker, whose answers bring their own memory; give "
        "none for its outputs",
        parts_.info.name);
  }
  if (request.deadline_ns != kNoDeadline && request.deadline_ns <= system_clock().now_ns()) {
    return terms::runtime_error(RuntimeCode::kTimeout,
                                "model \"{}\": the deadline had passed before the request came",
                                parts_.info.name);
  }
  return ok_status();
}

/// Requests beyond the slots: they wait in the line of the worker's own scheduler. Requires: mutex_
/// is held.
int RemoteModel::num_waiting() const {
  return std::max(static_cast<int>(flights_.size()) - static_cast<int>(parts_.info.num_slots), 0);
}

bool RemoteModel::is_full() const {
  const std::lock_guard lock(mutex_);
  return has_no_place();
}

/// Requires: mutex_ is held.
bool RemoteModel::has_no_place() const {
  return static_cast<int>(flights_.size()) >= depth() + parts_.info.queue_limit;
}

/// Its place among the requests in flight; `request` is left without its on_done.
Result<std::uint64_t> RemoteModel::enter(runtime::Request& request) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(Status(refusal_));
  if (has_no_place()) {
    return runtime::queue_full(parts_.info.name, num_waiting(), parts_.info.queue_limit,
                               pace_.retry_after_ns(num_waiting()));
  }
  if (flights_.empty()) pace_.resume(system_clock().now_ns());
  statistics_->count_accepted();  // before `send`: the answer may come before `send` returns
  const std::uint64_t id = next_id_++;
  Flight& flight = flights_[id];
  flight.on_done = std::move(request.on_done);
  flight.wants_detail = request.wants_detail;
  flight.entered_ns = system_clock().now_ns();
  flight.start_ns = request.since_ns != 0 ? request.since_ns : flight.entered_ns;
  statistics_->set_waiting(num_waiting());
  return id;
}

Status RemoteModel::send(std::uint64_t id, const runtime::Request& request) {
  const auto link = SLUICE_TRY(parts_.link->get());
  Inference inference;
  inference.model = worker_model_;
  inference.request.numbers = {request.wants_detail ? 1 : 0, request.max_run_ns};
  inference.request.tensors = request.inputs;
  inference.room_bytes = room_bytes_;
  inference.deadline_ns = request.deadline_ns;
  inference.priority = request.priority;
  inference.on_answer = [self = shared_from_this(), id](Answer answer) {
    self->take(id, std::move(answer));
  };
  const std::uint64_t link_id = SLUICE_TRY(link->infer(inference));
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(id);
  if (it == flights_.end()) return ok_status();  // answered before `infer` returned
  it->second.link = link;
  it->second.link_id = link_id;
  return ok_status();
}

Result<std::uint64_t> RemoteModel::submit(runtime::Request& request) {
  const auto enter_checked = [&]() -> Result<std::uint64_t> {
    SLUICE_TRY(check(request));
    return enter(request);
  };
  const auto id = enter_checked();
  Status status = id.is_ok() ? send(*id, request) : id.status();
  if (id.is_ok() && !status.is_ok()) {
    auto flight = leave(*id);
    if (!flight) return id;  // cancelled meanwhile: on_done was called with kCancelled
    request.on_done = std::move(flight->on_done);
    statistics_->refuse_accepted();
    return status;
  }
  if (!status.is_ok()) {
    statistics_->count_refused();
    return status;
  }
  return id;
}

std::optional<RemoteModel::Flight> RemoteModel::leave(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(id);
  if (it == flights_.end()) return std::nullopt;
  Flight flight = std::move(it->second);
  flights_.erase(it);
  statistics_->set_waiting(num_waiting());
  return flight;
}

bool RemoteModel::cancel(std::uint64_t id) {
  const auto flight = leave(id);
  if (!flight) return false;
  if (const auto link = flight->link.lock()) link->cancel(flight->link_id);
  record(*flight, RuntimeCode::kCancelled, nullptr);
  const Status status =
      terms::runtime_error(RuntimeCode::kCancelled, "model \"{}\": cancelled", parts_.info.name);
  answer(*flight, {RuntimeCode::kCancelled, terms::ErrorList(status), {}, {}});
  return true;
}

void RemoteModel::take(std::uint64_t id, Answer answer) {
  const auto flight = leave(id);
  if (!flight) return;  // cancelled
  if (answer.code == RuntimeCode::kOk) {
    const std::lock_guard lock(mutex_);
    pace_.complete(system_clock().now_ns());
  }
  const std::int64_t num_bytes = answer.num_bytes;
  std::int64_t room = room_bytes_;
  while (num_bytes > room && !room_bytes_.compare_exchange_weak(room, num_bytes)) {
  }
  const bool has_run = !answer.bundle.tensors.empty();
  const ToldNumbers numbers = answer.bundle.numbers;
  Reply reply = reply_of(std::move(answer), parts_.signature, parts_.info.name,
                         flight->wants_detail, parts_.where);
  const bool is_of_device =
      reply.code == RuntimeCode::kModelFailed || reply.code == RuntimeCode::kDeviceError;
  // Only an error that the worker itself sent fails the model. A death has no bundle: the group
  // restarts the worker and the model with it.
  if (is_of_device && num_bytes > 0 && phase() == ModelPhase::kStarted) {
    set_phase(ModelPhase::kFailed, reply.errors.to_status().message());
  }
  record(*flight, reply.code, has_run ? &numbers : nullptr);
  reply.detail.queue_ns += flight->entered_ns - flight->start_ns;
  this->answer(*flight, std::move(reply));
}

/// `numbers`: null for a request that did not run.
void RemoteModel::record(const Flight& flight, RuntimeCode code, const ToldNumbers* numbers) {
  const std::lock_guard lock(statistics_mutex_);
  statistics_->count_answer(code);
  if (numbers == nullptr) return;
  auto times = told_.next(*numbers, system_clock().now_ns() - flight.start_ns);
  times.queue_ns += flight.entered_ns - flight.start_ns;
  statistics_->record(times);
  statistics_->add_busy(times.compute_ns);
  statistics_->add_lane_busy(0, times.compute_ns);
  statistics_->set_recorded_bytes(std::max<std::int64_t>((*numbers)[3], 0));
  if ((*numbers)[4] != 0) statistics_->count_joined(1);
  const std::int64_t rows = (*numbers)[6];
  if (rows > 0) statistics_->record_run(rows, 1, times, system_clock().now_ns());
}

void RemoteModel::answer(const Flight& flight, Reply reply) {
  if (flight.on_done) flight.on_done(std::move(reply));
  tell_waiters();
}

bool RemoteModel::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  while (true) {
    const std::uint64_t seen = num_told_;
    lock.unlock();
    if (is_done()) return true;
    const std::int64_t now_ns = system_clock().now_ns();
    if (now_ns >= deadline_ns) return false;
    lock.lock();
    const auto is_told = [&] { return num_told_ != seen; };
    constexpr std::int64_t kLongestNs = 1'000'000'000;
    heard_.wait_for(lock, std::chrono::nanoseconds(std::min(deadline_ns - now_ns, kLongestNs)),
                    is_told);
  }
}

void RemoteModel::tell_waiters() {
  with_lock(mutex_, [&] { ++num_told_; });
  heard_.notify_all();
}

}  // namespace sluice::worker
