#include "runtime/data/inline_model.h"

#include <algorithm>
#include <utility>

namespace sluice::runtime {
namespace {

Reply failure(const Status& status) { return {runtime_code_of(status), ErrorList(status), {}, {}}; }

}  // namespace

Result<std::unique_ptr<InlineModel>> InlineModel::create(
    const exec::LoadedModel& model, int depth, Clock& clock,
    std::shared_ptr<device::DeviceServiceTable> devices) {
  if (depth < 1)
    return invalid_argument("a model runs at least 1 request at a time, not {}", depth);
  if (devices == nullptr) devices = std::make_shared<device::DeviceServiceTable>(clock);
  auto pipeline = SLUICE_TRY(
      Pipeline::create(model, static_cast<std::size_t>(depth), *devices, "a session's model"));
  std::unique_ptr<InlineModel> result(
      new InlineModel(std::move(devices), std::move(pipeline), clock));
  for (std::size_t i = result->pipeline_.num_slots(); i > 0; --i) {
    result->free_slots_.push_back(i - 1);
  }
  return result;
}

Result<std::uint64_t> InlineModel::submit(Request& request) {
  const std::int64_t now_ns = clock_.now_ns();
  const auto& specs = signature().inputs;
  if (request.inputs.size() != specs.size()) {
    return runtime_error(RuntimeCode::kBadInput, "got {} inputs, the model takes {}",
                         request.inputs.size(), specs.size());
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Status status = exec::check_input(specs[i], request.inputs[i]);
    if (!status.is_ok()) return with_runtime_code(status, RuntimeCode::kBadInput);
  }
  if (request.deadline_ns <= now_ns) {
    return runtime_error(RuntimeCode::kTimeout, "the deadline passed {} ns ago",
                         now_ns - request.deadline_ns);
  }
  const std::lock_guard lock(mutex_);
  if (in_flight_ == pipeline_.num_slots()) {
    return runtime_error(RuntimeCode::kQueueFull,
                         "{} requests are in flight, the most there may be", in_flight_);
  }
  ++in_flight_;
  const auto after = std::ranges::find_if(
      waiting_, [&](const Waiting& other) { return other.request.priority < request.priority; });
  waiting_.insert(after, {next_id_, now_ns, std::move(request)});
  changed_.notify_all();
  return next_id_++;
}

bool InlineModel::cancel(std::uint64_t id) {
  std::function<void(Reply)> on_done;
  {
    const std::lock_guard lock(mutex_);
    const auto it = std::ranges::find(waiting_, id, &Waiting::id);
    if (it == waiting_.end()) return false;
    on_done = std::move(it->request.on_done);
    waiting_.erase(it);
    --in_flight_;
  }
  on_done(failure(runtime_error(RuntimeCode::kCancelled, "the request was cancelled")));
  tell_waiters();
  return true;
}

void InlineModel::tell_waiters() {
  { const std::lock_guard lock(mutex_); }  // a waiter that saw it undone sleeps by now
  changed_.notify_all();
}

bool InlineModel::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  while (!is_done()) {
    if (run_one()) continue;
    std::unique_lock lock(mutex_);
    if (is_done()) return true;
    if (clock_.now_ns() >= deadline_ns) return false;
    if (waiting_.empty()) clock_.wait_until(lock, changed_, deadline_ns);
  }
  return true;
}

bool InlineModel::run_one() {
  Waiting waiting;
  std::size_t slot = 0;
  if (!take(waiting, slot)) return false;
  const auto on_done = std::move(waiting.request.on_done);
  Reply reply = run(slot, waiting);
  finish(slot);
  on_done(std::move(reply));
  tell_waiters();
  return true;
}

bool InlineModel::take(Waiting& waiting, std::size_t& slot) {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return false;
  waiting = std::move(waiting_.front());
  waiting_.pop_front();
  slot = free_slots_.back();  // as many as requests in flight
  free_slots_.pop_back();
  return true;
}

void InlineModel::finish(std::size_t slot) {
  const std::lock_guard lock(mutex_);
  free_slots_.push_back(slot);
  --in_flight_;
}

Reply InlineModel::run(std::size_t slot, const Waiting& waiting) {
  const std::int64_t started_ns = clock_.now_ns();
  if (started_ns >= waiting.request.deadline_ns) {
    return failure(runtime_error(RuntimeCode::kTimeout, "the deadline passed before it started"));
  }
  Status status = pipeline_.prepare(slot, waiting.request);
  if (status.is_ok()) status = pipeline_.run(slot);
  if (!status.is_ok()) return failure(status);
  auto outputs = pipeline_.take_outputs(slot);
  if (!outputs.is_ok()) return failure(outputs.status());
  Reply reply;
  reply.outputs = std::move(*outputs);
  if (waiting.request.wants_detail) {
    reply.detail.backends = pipeline_.model().executable().backends;
    reply.detail.queue_ns = started_ns - waiting.submitted_ns;
    reply.detail.compute_ns = clock_.now_ns() - started_ns;
  }
  return reply;
}

}  // namespace sluice::runtime
