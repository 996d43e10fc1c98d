#include "runtime/data/inline_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::runtime {
namespace {

Status run_request(exec::Context& context, const Request& request, std::size_t num_outputs) {
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    SLUICE_TRY(context.set_input(i, request.inputs[i]));
  }
  for (std::size_t i = 0; i < num_outputs; ++i) {
    const OutputMemory memory = i < request.outputs.size() ? request.outputs[i] : OutputMemory{};
    SLUICE_TRY(context.bind_output(i, memory.data, memory.capacity_bytes));
  }
  return context.run();
}

/// What the context owns is copied: its next run overwrites it.
OutputTensor take_output(const exec::TensorView& view, bool is_callers) {
  if (is_callers) return {view, nullptr};
  const auto size = static_cast<std::size_t>(view.size_bytes);
  auto memory = std::make_shared<MutableBytes>(
      MutableBytes::copy_of({static_cast<const std::byte*>(view.data), size}));
  OutputTensor output = {view, nullptr};
  output.view.data = memory->view().data();
  output.owner = std::move(memory);
  return output;
}

Reply failure(const Status& status) { return {runtime_code_of(status), ErrorList(status), {}, {}}; }

}  // namespace

Result<std::unique_ptr<InlineModel>> InlineModel::create(exec::LoadedModel model, int depth,
                                                         Clock& clock) {
  if (depth < 1)
    return invalid_argument("a model runs at least 1 request at a time, not {}", depth);
  std::unique_ptr<InlineModel> result(new InlineModel(std::move(model), clock));
  for (int i = 0; i < depth; ++i) {
    result->contexts_.push_back(SLUICE_TRY(result->model_.create_context()));
    result->free_contexts_.push_back(static_cast<std::size_t>(i));
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
  if (in_flight_ == contexts_.size()) {
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
  std::size_t context = 0;
  if (!take(waiting, context)) return false;
  const auto on_done = std::move(waiting.request.on_done);
  Reply reply = run(contexts_[context], waiting);
  finish(context);
  on_done(std::move(reply));
  tell_waiters();
  return true;
}

bool InlineModel::take(Waiting& waiting, std::size_t& context) {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return false;
  waiting = std::move(waiting_.front());
  waiting_.pop_front();
  context = free_contexts_.back();  // as many as requests in flight
  free_contexts_.pop_back();
  return true;
}

void InlineModel::finish(std::size_t context) {
  const std::lock_guard lock(mutex_);
  free_contexts_.push_back(context);
  --in_flight_;
}

Reply InlineModel::run(exec::Context& context, const Waiting& waiting) const {
  const std::int64_t started_ns = clock_.now_ns();
  if (started_ns >= waiting.request.deadline_ns) {
    return failure(runtime_error(RuntimeCode::kTimeout, "the deadline passed before it started"));
  }
  const Status status = run_request(context, waiting.request, signature().outputs.size());
  if (!status.is_ok()) return failure(status);
  Reply reply;
  for (std::size_t i = 0; i < signature().outputs.size(); ++i) {
    const auto& memory = waiting.request.outputs;
    const bool is_callers = i < memory.size() && memory[i].data != nullptr;
    reply.outputs.push_back(take_output(context.output(i), is_callers));
  }
  if (waiting.request.wants_detail) {
    reply.detail.backends = model_.executable().backends;
    reply.detail.queue_ns = started_ns - waiting.submitted_ns;
    reply.detail.compute_ns = clock_.now_ns() - started_ns;
  }
  return reply;
}

}  // namespace sluice::runtime
