#include "session/inline_model.h"

#include <utility>

namespace sluice::session {

Result<std::unique_ptr<InlineModel>> InlineModel::create(
    const exec::LoadedModel& model, int depth, Clock& clock,
    std::shared_ptr<device::DeviceServiceTable> devices) {
  if (depth < 1)
    return invalid_argument("a model runs at least 1 request at a time, not {}", depth);
  if (devices == nullptr) devices = std::make_shared<device::DeviceServiceTable>(clock);
  auto pipeline = SLUICE_TRY(runtime::Pipeline::create(model, static_cast<std::size_t>(depth),
                                                       *devices, "a session's model"));
  std::unique_ptr<InlineModel> result(
      new InlineModel(std::move(devices), std::move(pipeline), clock));
  for (std::size_t i = result->pipeline_.num_slots(); i > 0; --i) {
    result->free_slots_.push_back(i - 1);
  }
  return result;
}

Status InlineModel::check(const runtime::Request& request) const {
  const auto& specs = signature().inputs;
  if (request.inputs.size() != specs.size()) {
    return terms::runtime_error(RuntimeCode::kBadInput, "got {} inputs, the model takes {}",
                                request.inputs.size(), specs.size());
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Status status = exec::check_input(specs[i], request.inputs[i]);
    if (!status.is_ok()) return terms::with_runtime_code(status, RuntimeCode::kBadInput);
  }
  const std::int64_t now_ns = clock_.now_ns();
  if (request.deadline_ns <= now_ns) {
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed {} ns ago",
                                now_ns - request.deadline_ns);
  }
  return ok_status();
}

Status InlineModel::enter_locked() {
  // No waiting line beyond the slots: a request that is accepted always finds a free slot when it
  // is taken.
  if (in_flight_ == pipeline_.num_slots()) {
    return terms::runtime_error(RuntimeCode::kQueueFull,
                                "{} requests are in flight, the most there may be", in_flight_);
  }
  ++in_flight_;
  return ok_status();
}

Result<std::uint64_t> InlineModel::submit(runtime::Request& request) {
  SLUICE_TRY(check(request));
  const std::int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(enter_locked());
  line_.push({next_id_, now_ns, std::move(request)});
  // A waiter that sleeps may run this request instead.
  if (num_sleeping_.load() > 0) changed_.notify_all();
  return next_id_++;
}

runtime::Reply InlineModel::run_now(const runtime::Request& request,
                                    const std::function<Status(std::size_t)>& before_segment) {
  Status status = check(request);
  std::size_t slot = 0;
  if (status.is_ok()) {
    const std::lock_guard lock(mutex_);
    status = enter_locked();
    if (status.is_ok()) {  // a slot is free: requests in flight are at most as many
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
  }
  if (!status.is_ok()) return runtime::failed_reply(status);
  runtime::Reply reply = run(slot, request, clock_.now_ns(), before_segment);
  finish(slot);
  tell_waiters();
  return reply;
}

bool InlineModel::cancel(std::uint64_t id) {
  std::optional<runtime::PendingRequest> cancelled;
  {
    const std::lock_guard lock(mutex_);
    cancelled = line_.take(id);
    if (!cancelled) return false;
    --in_flight_;
  }
  cancelled->request.on_done(runtime::failed_reply(
      terms::runtime_error(RuntimeCode::kCancelled, "the request was cancelled")));
  tell_waiters();
  return true;
}

// No lost wake-up without the lock: a waiter increments num_sleeping_ and then evaluates its
// condition; who made it true reads num_sleeping_ afterwards, by a read-modify-write.
void InlineModel::tell_waiters() {
  if (num_sleeping_.fetch_add(0) == 0) return;
  { const std::lock_guard lock(mutex_); }  // a waiter whose condition was false sleeps by now
  changed_.notify_all();
}

bool InlineModel::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  while (!is_done()) {
    if (run_one()) continue;
    std::unique_lock lock(mutex_);
    num_sleeping_.fetch_add(1);
    const bool is_over = is_done() || clock_.now_ns() >= deadline_ns;
    // The line is looked at under the lock, so a submit between run_one and here is not missed.
    if (!is_over && line_.empty()) clock_.wait_until(lock, changed_, deadline_ns);
    num_sleeping_.fetch_sub(1);
    if (is_over) return is_done();
  }
  return true;
}

bool InlineModel::run_one() {
  std::size_t slot = 0;
  auto pending = take(slot);
  if (!pending) return false;
  const auto on_done = std::move(pending->request.on_done);
  runtime::Reply reply = run(slot, pending->request, pending->submitted_ns);
  // Before on_done, which may submit the next request and needs the slot.
  finish(slot);
  on_done(std::move(reply));
  tell_waiters();
  return true;
}

std::optional<runtime::PendingRequest> InlineModel::take(std::size_t& slot) {
  const std::lock_guard lock(mutex_);
  auto pending = line_.pop();
  if (!pending) return std::nullopt;
  slot = free_slots_.back();  // not empty: in_flight_ <= number of slots
  free_slots_.pop_back();
  return pending;
}

void InlineModel::finish(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  free_slots_.push_back(slot);
  --in_flight_;
}

runtime::Reply InlineModel::run(std::size_t slot, const runtime::Request& request,
                                std::int64_t submitted_ns,
                                const std::function<Status(std::size_t)>& before_segment) {
  const std::int64_t started_ns = clock_.now_ns();
  if (started_ns >= request.deadline_ns) {
    return runtime::failed_reply(
        terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed before it started"));
  }
  const std::int64_t deadline_ns = request.deadline_ns;
  const auto checkpoint = [this, deadline_ns] {
    if (clock_.now_ns() < deadline_ns) return ok_status();
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed while running");
  };
  Status status = pipeline_.prepare(slot, request, checkpoint);
  if (status.is_ok()) status = pipeline_.run(slot, before_segment);
  if (!status.is_ok()) return runtime::failed_reply(status);
  auto outputs = pipeline_.take_outputs(slot);
  if (!outputs.is_ok()) return runtime::failed_reply(outputs.status());
  runtime::Reply reply;
  reply.outputs = std::move(*outputs);
  if (request.wants_detail) {
    reply.detail.backends = pipeline_.model().executable().backends;
    reply.detail.queue_ns = started_ns - submitted_ns;
    reply.detail.compute_ns = clock_.now_ns() - started_ns;
  }
  return reply;
}

}  // namespace sluice::session
