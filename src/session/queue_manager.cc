// The pump is the only consumer of the rings and the only thread that takes a slot; callbacks give
// slots back from any thread. `open_` counts each request twice: until its callbacks returned, and
// until the model's last access to the manager. `close` waits for zero.
#include "session/queue_manager.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"

namespace sluice::session {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{1};

Status check_spec(const terms::TensorSpec& spec) {
  const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
  const auto is_known = [](const ir::Dim& dim) { return dim.is_known(); };
  const bool has_text = spec.type.element() == ir::ElementType::kString;
  if (shape == nullptr || has_text ||
      !std::all_of(shape->empty() ? shape->begin() : shape->begin() + 1, shape->end(), is_known)) {
    return invalid_argument(
        "\"{}\" is {}: its shape does not follow from a size in bytes; only the first dimension "
        "may vary",
        spec.name, spec.type.to_string());
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<QueueManager>> QueueManager::create(runtime::RequestSink& model,
                                                           const QueueOptions& options) {
  const int depth = std::max(model.depth(), 1);
  const std::size_t capacity =
      options.capacity > 0 ? options.capacity : 2 * static_cast<std::size_t>(depth);
  std::unique_ptr<QueueManager> manager(new QueueManager(model));
  const auto pump = [self = manager.get()] { self->pump(); };
  const terms::Signature& signature = model.signature();
  for (const terms::TensorSpec& spec : signature.inputs) {
    if (spec.has_default) continue;  // always the default: no queue
    SLUICE_TRY(check_spec(spec));
    manager->inputs_.emplace_back(spec, false, capacity, model.clock(), pump);
  }
  for (const terms::TensorSpec& spec : signature.outputs) {
    manager->outputs_.emplace_back(spec, true, capacity, model.clock(), pump);
  }
  for (int i = 0; i < depth; ++i) {
    Slot& slot = manager->slots_.emplace_back();
    slot.inputs.resize(manager->inputs_.size());
    slot.outputs.resize(signature.outputs.size());
  }
  return manager;
}

QueueManager::~QueueManager() { close(); }

TensorQueue* QueueManager::find(std::string_view name) {
  for (auto* queues : {&inputs_, &outputs_}) {
    for (TensorQueue& queue : *queues) {
      if (queue.spec().name == name) return &queue;
    }
  }
  return nullptr;
}

Status QueueManager::no_queue(std::string_view name) const {
  const terms::Signature& signature = model_.signature();
  const auto spec = std::ranges::find(signature.inputs, name, &terms::TensorSpec::name);
  if (spec == signature.inputs.end()) {
    return make_error(Code::kNotFound, "the model has no tensor \"{}\"{}", name,
                      terms::fixed_input_hint(signature, name));
  }
  return make_error(Code::kNotFound,
                    "input \"{}\" has a default and therefore no queue: a request may give it",
                    name);
}

void QueueManager::pump() {
  pump_.run([this] { start_requests(); });
}

void QueueManager::start_requests() {
  // Sequentially consistent with the store in close() and the entry into pump_: either close()
  // pumps after the producer, or the producer sees is_closing_.
  if (is_closing_.load(std::memory_order_seq_cst)) return cancel_waiting();
  while (true) {
    Slot* slot = std::exchange(stalled_, nullptr);
    if (slot == nullptr) {
      slot = has_data() ? find_free_slot() : nullptr;
      if (slot == nullptr) return;
      take_records(*slot);
    }
    const Status status = start(*slot);
    if (status.is_ok()) continue;
    if (terms::runtime_code_of(status) == RuntimeCode::kQueueFull) {
      // Its records have left the rings and cannot go back: the next pump starts this slot first,
      // in order.
      stalled_ = slot;
      if (try_later()) return;
      stalled_ = nullptr;
    }
    finish(*slot, runtime::failed_reply(status));
    model_.tell_waiters();
  }
}

/// The line may be full of the requests of others, and nobody tells when those have left. False
/// without a thread.
bool QueueManager::try_later() {
  const std::lock_guard lock(retry_mutex_);
  if (!retrier_.joinable()) {
    auto thread = start_thread([this] { keep_trying(); });
    if (!thread.is_ok()) return false;
    retrier_ = std::move(*thread);
  }
  wants_retry_ = true;
  retry_changed_.notify_all();
  return true;
}

void QueueManager::keep_trying() {
  const auto is_closing = [this] { return is_closing_.load(std::memory_order_seq_cst); };
  std::unique_lock lock(retry_mutex_);
  while (true) {
    retry_changed_.wait(lock, [&] { return wants_retry_ || is_closing(); });
    if (retry_changed_.wait_for(lock, kRetryAfter, is_closing)) return;
    wants_retry_ = false;
    lock.unlock();
    pump();
    lock.lock();
  }
}

bool QueueManager::has_data() const {
  const auto has_some = [](const TensorQueue& queue) { return queue.size() > 0; };
  return std::ranges::all_of(inputs_, has_some) && std::ranges::all_of(outputs_, has_some);
}

QueueManager::Slot* QueueManager::find_free_slot() {
  for (Slot& slot : slots_) {
    if (!slot.is_taken.load(std::memory_order_acquire)) return &slot;
  }
  return nullptr;
}

void QueueManager::take_records(Slot& slot) {
  // Only the pump takes slots, so no other thread reads this before the request is submitted.
  slot.is_taken.store(true, std::memory_order_relaxed);
  open_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = 0; i < inputs_.size(); ++i) (void)inputs_[i].ring_.try_pop(slot.inputs[i]);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    (void)outputs_[i].ring_.try_pop(slot.outputs[i]);
  }
}

Status QueueManager::start(Slot& slot) {
  runtime::Request request;
  std::size_t next = 0;
  for (const terms::TensorSpec& spec : model_.signature().inputs) {
    if (spec.has_default) {
      request.inputs.push_back(terms::default_of(spec).value_or(terms::TensorView()));
      continue;
    }
    const auto& record = slot.inputs[next];
    request.inputs.push_back({record.data, record.size_bytes, spec.type.element(),
                              inputs_[next++].dims_of(record.size_bytes)});
  }
  for (const auto& record : slot.outputs)
    request.outputs.push_back({record.data, record.size_bytes});
  request.on_done = [this, &slot](const runtime::Reply& reply) {
    finish(slot, reply);
    pump();
    open_.fetch_sub(1,
                    std::memory_order_acq_rel);  // the last access to *this: `close` waits for it
  };
  open_.fetch_add(1, std::memory_order_acq_rel);
  const auto id = model_.submit(request);
  if (id.is_ok()) return ok_status();
  open_.fetch_sub(1, std::memory_order_acq_rel);
  return id.status();
}

/// Calls the callbacks of a request and frees its slot.
void QueueManager::finish(Slot& slot, const runtime::Reply& reply) {
  const std::vector<TensorQueue::Record> inputs = slot.inputs;
  const std::vector<TensorQueue::Record> outputs = slot.outputs;
  // Freed before the callbacks, which may put the next tensors and want a slot. Therefore the
  // records were copied.
  slot.is_taken.store(false, std::memory_order_release);
  for (const auto& record : inputs) record.on_done({reply.code, record.size_bytes});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_there = i < reply.outputs.size();
    outputs[i].on_done({reply.code, is_there ? reply.outputs[i].view.size_bytes : 0});
  }
  open_.fetch_sub(1, std::memory_order_acq_rel);
}

void QueueManager::cancel_waiting() {
  const runtime::Reply cancelled = {RuntimeCode::kCancelled, {}, {}, {}};
  if (Slot* slot = std::exchange(stalled_, nullptr)) finish(*slot, cancelled);
  for (auto* queues : {&inputs_, &outputs_}) {
    for (TensorQueue& queue : *queues) {
      TensorQueue::Record record;
      while (queue.ring_.try_pop(record) == RingResult::kDone) {
        record.on_done({RuntimeCode::kCancelled, 0});
      }
    }
  }
  model_.tell_waiters();
}

void QueueManager::close() {
  for (auto* queues : {&inputs_, &outputs_}) {
    for (TensorQueue& queue : *queues) queue.ring_.close();
  }
  is_closing_.store(true, std::memory_order_seq_cst);
  open_.fetch_add(1, std::memory_order_acq_rel);
  pump();
  open_.fetch_sub(1, std::memory_order_acq_rel);
  const auto is_done = [this] { return open_.load(std::memory_order_acquire) == 0; };
  while (!model_.wait(is_done, kNoDeadline)) {
  }
  // Last: a slot that waits for a retry is open, so that none can ask for the thread any more.
  with_lock(retry_mutex_, [&] { retry_changed_.notify_all(); });
  if (retrier_.joinable()) retrier_.join();
}

}  // namespace sluice::session
