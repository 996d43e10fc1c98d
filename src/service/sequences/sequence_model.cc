#include "service/sequences/sequence_model.h"

#include <algorithm>
#include <cstring>

#include "base/no_memory.h"
#include "base/process/with_lock.h"
#include "base/system/aligned_memory.h"
#include "base/text/plural.h"
#include "service/sequences/control_values.h"

namespace sluice::service {

using runtime::Reply;
using runtime::Request;
using terms::runtime_error;
using terms::TensorView;
using InputKind = SequenceLayout::Kind;

namespace {

constexpr std::int64_t kNsPerUs = 1000;
// An id is a client's, and may be as long as a message.
constexpr std::size_t kMaxIdBytes = 256;
// Until there may be memory for an answer.
constexpr std::int64_t kRetryNs = 100'000'000;

Status cancelled() { return runtime_error(RuntimeCode::kCancelled, "the request was cancelled"); }

Status copy_bytes(const TensorView& from, void* to) {
  if (to == nullptr) {
    return runtime_error(RuntimeCode::kOutOfResources, "no memory for {} bytes", from.size_bytes);
  }
  if (from.size_bytes > 0) std::memcpy(to, from.data, static_cast<std::size_t>(from.size_bytes));
  return ok_status();
}

/// What is a state, too, comes to the client's memory as a copy, because the client may change it.
Status give(const Request& request, std::size_t output, terms::OutputTensor& tensor) {
  if (output >= request.outputs.size() || request.outputs[output].data == nullptr) {
    return ok_status();
  }
  const terms::OutputMemory& to = request.outputs[output];
  if (tensor.view.size_bytes > to.capacity_bytes) {
    return runtime_error(RuntimeCode::kBadInput, "output {} has {} bytes, its memory {}", output,
                         tensor.view.size_bytes, to.capacity_bytes);
  }
  SLUICE_TRY(copy_bytes(tensor.view, to.data));
  tensor.view.data = to.data;
  tensor.owner = nullptr;
  return ok_status();
}

std::string shown(const terms::SequencePart& part) {
  return part.is_number ? part.id : "\"" + part.id.substr(0, kMaxIdBytes) + "\"";
}

std::string key_of(const terms::SequencePart& part) {
  return (part.is_number ? "#" : "=") + part.id;
}

}  // namespace

Result<std::shared_ptr<SequenceModel>> SequenceModel::create(
    std::string name, std::shared_ptr<runtime::RequestSink> model,
    const terms::DeclaredModel& declared, sandbox::Exchange* exchange,
    const SequenceLimits& limits) {
  const bool has_rows = declared.max_batch_size > 0;
  auto layout = SLUICE_TRY(lay_out(declared, model->signature()));
  std::shared_ptr<SequenceModel> made(
      new SequenceModel(std::move(name), std::move(model), std::move(layout), has_rows,
                        declared.sequences->max_idle_us * kNsPerUs, exchange, limits));
  if (exchange != nullptr) exchange->add(std::weak_ptr<sandbox::ExchangeHolder>(made));
  return made;
}

SequenceModel::SequenceModel(std::string name, std::shared_ptr<runtime::RequestSink> model,
                             SequenceLayout layout, bool has_rows, std::int64_t max_idle_ns,
                             sandbox::Exchange* exchange, const SequenceLimits& limits)
    : name_(std::move(name)),
      model_(std::move(model)),
      layout_(std::move(layout)),
      has_rows_(has_rows),
      max_idle_ns_(max_idle_ns),
      exchange_(exchange),
      limits_(limits) {}

std::size_t SequenceModel::num_sequences() const {
  const std::lock_guard lock(mutex_);
  return sequences_.size();
}

// ---- what comes

Status SequenceModel::check(const Request& request) const {
  if (request.sequence == nullptr || request.sequence->id.empty()) {
    return runtime_error(RuntimeCode::kBadInput,
                         "inference request to model '{}' must specify a non-zero or non-empty "
                         "correlation ID",
                         name_);
  }
  if (request.sequence->id.size() > kMaxIdBytes) {
    return runtime_error(RuntimeCode::kBadInput, "a sequence_id has at most {} bytes", kMaxIdBytes);
  }
  if (request.inputs.size() != layout_.client.inputs.size()) {
    return runtime_error(RuntimeCode::kBadInput, "model \"{}\" has {}, {} came", name_,
                         counted(layout_.client.inputs.size(), "input"), request.inputs.size());
  }
  for (const TensorView& input : request.inputs) {
    if (!has_rows_ || (!input.dims.empty() && input.dims.front() == 1)) continue;
    return runtime_error(RuntimeCode::kBadInput,
                         "inference request to model '{}' must specify batch-size 1 due to "
                         "requirements of sequence batcher",
                         name_);
  }
  return ok_status();
}

Result<std::vector<Bytes>> SequenceModel::ids_of(const terms::SequencePart& part) const {
  std::vector<Bytes> ids(layout_.controls.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const terms::SequenceControl& control = layout_.controls[i].declared;
    if (control.kind != terms::SequenceControl::Kind::kCorrelationId) continue;
    ids[i] = SLUICE_TRY(id_bytes(control, part));
  }
  return ids;
}

Status SequenceModel::not_started(const terms::SequencePart& part) const {
  return runtime_error(RuntimeCode::kBadInput,
                       "inference request for sequence {} to model '{}' must specify the START "
                       "flag on the first request of the sequence",
                       shown(part), name_);
}

/// Requires: mutex_ is held, as for the functions down to `remove`.
Status SequenceModel::enter(const std::shared_ptr<Turn>& turn, const Key& key,
                            const Request& request) {
  turn->sequence = SLUICE_TRY(find_or_begin(key, *request.sequence));
  turns_.emplace(turn->id, turn);
  if (!turn->sequence->is_busy) return ok_status();
  if (request.deadline_ns != kNoDeadline) deadlines_.emplace(request.deadline_ns, turn->id);
  turn->sequence->waiting.push_back(turn);
  return ok_status();
}

/// Whatever `enter` had done when it failed. A sequence that it began is not open, and goes by
/// time.
void SequenceModel::undo_enter(const std::shared_ptr<Turn>& turn, std::int64_t deadline_ns) {
  turns_.erase(turn->id);
  deadlines_.erase({deadline_ns, turn->id});
  if (turn->sequence != nullptr) std::erase(turn->sequence->waiting, turn);
}

Result<std::shared_ptr<SequenceModel::Sequence>> SequenceModel::find_or_begin(
    const Key& key, const terms::SequencePart& part) {
  const auto it = sequences_.find(key);
  const bool is_there = it != sequences_.end();
  if (!part.is_start && (!is_there || it->second->has_lost_start)) return not_started(part);
  if (!is_there) return begin(key);
  const std::size_t num_waiting = it->second->waiting.size();
  if (num_waiting >= limits_.max_waiting) {
    return runtime_error(RuntimeCode::kQueueFull,
                         "model \"{}\": sequence {} has {} waiting, which is the limit", name_,
                         shown(part), counted(num_waiting, "request"));
  }
  return it->second;
}

Result<std::shared_ptr<SequenceModel::Sequence>> SequenceModel::begin(const Key& key) {
  if (sequences_.size() >= limits_.max_sequences) {
    return runtime_error(RuntimeCode::kOutOfResources,
                         "model \"{}\" has {} sequences, which is the limit; end some", name_,
                         sequences_.size());
  }
  std::size_t& num = num_of_owner_[key.first];
  if (num >= limits_.max_of_owner) {
    return runtime_error(RuntimeCode::kOutOfResources,
                         "model \"{}\" has {} of your sequences, which is the limit; end some",
                         name_, num);
  }
  auto sequence = std::make_shared<Sequence>();
  sequence->key = key;
  sequence->node.push_back(sequence.get());
  sequence->place = sequence->node.begin();
  sequences_.emplace(key, sequence);
  ++num;
  rest(*sequence);
  return sequence;
}

/// Allocates nothing, as the next two: an answer must not fail here.
void SequenceModel::rest(Sequence& sequence) {
  sequence.is_busy = false;
  sequence.idle_since_ns = clock().now_ns();
  idle_.splice(idle_.end(), sequence.node);
}

void SequenceModel::rouse(Sequence& sequence) {
  sequence.is_busy = true;
  sequence.node.splice(sequence.node.end(), idle_, sequence.place);
}

/// Requires: it is busy. The caller keeps it alive until behind the lock.
void SequenceModel::remove(Sequence& sequence) {
  const auto num = num_of_owner_.find(sequence.key.first);
  if (--num->second == 0) num_of_owner_.erase(num);
  sequences_.erase(sequence.key);
}

Result<std::uint64_t> SequenceModel::submit(Request& request) {
  auto id = accept(request);
  if (!id.is_ok()) refused(request);
  return id;
}

void SequenceModel::refused(const Request& request) {
  const auto& part = request.sequence;
  if (part == nullptr || !part->is_start || part->id.size() > kMaxIdBytes) return;
  const Key key = {request.exchange_owner, key_of(*part)};
  const std::lock_guard lock(mutex_);
  const auto it = sequences_.find(key);
  if (it != sequences_.end()) it->second->has_lost_start = true;
}

Result<std::uint64_t> SequenceModel::accept(Request& request) {
  SLUICE_TRY(check(request));
  const auto turn = std::make_shared<Turn>();
  turn->ids = SLUICE_TRY(ids_of(*request.sequence));
  turn->model = shared_from_this();
  const Key key = {request.exchange_owner, key_of(*request.sequence)};
  end_idle(clock().now_ns());
  bool has_to_wait = false;
  std::int64_t look_ns = kNoDeadline;
  Status entered = ok_status();
  {
    const std::lock_guard lock(mutex_);
    turn->id = ++last_id_;
    entered = catch_no_memory([&] { return enter(turn, key, request); });
    if (entered.is_ok()) {
      turn->request = std::move(request);
      if (turn->part().is_start) turn->sequence->has_lost_start = false;
      has_to_wait = turn->sequence->is_busy;
      if (!has_to_wait) rouse(*turn->sequence);
    } else {
      undo_enter(turn, request.deadline_ns);
    }
    if (has_to_wait) {
      turn->request.will_wait = false;  // another thread submits it
      if (turn->request.since_ns == 0) turn->request.since_ns = clock().now_ns();
    }
    // A sequence that `enter` began counts too, though it failed.
    if (has_to_wait || !entered.is_ok()) look_ns = earlier_look_ns();
  }
  look_at(look_ns);
  if (!entered.is_ok()) return entered;
  if (has_to_wait) return turn->id;
  const Status status = catch_no_memory([&] { return run(turn); });
  if (status.is_ok()) return turn->id;
  auto next = leave(*turn);
  request = std::move(turn->request);
  go_on(std::move(next));
  return status;
}

// ---- what ends by time, or with its owner

void SequenceModel::end_idle(std::int64_t now_ns) {
  // Their memory goes behind the lock.
  for (auto sequence = take_idle(now_ns); sequence != nullptr;) sequence = take_idle(now_ns);
}

std::shared_ptr<SequenceModel::Sequence> SequenceModel::take_idle(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty() || now_ns - idle_.front()->idle_since_ns < max_idle_ns_) return nullptr;
  auto sequence = sequences_.find(idle_.front()->key)->second;
  rouse(*sequence);
  remove(*sequence);
  return sequence;
}

/// The first turn that waits and whose deadline has passed.
std::shared_ptr<SequenceModel::Turn> SequenceModel::find_late(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  if (deadlines_.empty() || deadlines_.begin()->first > now_ns) return nullptr;
  return turns_.at(deadlines_.begin()->second);
}

/// Takes a turn out of the line, and its request, which the caller answers; none if it does not
/// wait. A START keeps its place: when it comes there, the sequence before it ends.
/// Requires: mutex_ is held.
std::optional<Request> SequenceModel::end_waiting(const std::shared_ptr<Turn>& turn) {
  auto& waiting = turn->sequence->waiting;
  const auto place = std::ranges::find(waiting, turn);
  if (place == waiting.end() || turn->is_cancelled) return std::nullopt;
  turn->is_cancelled = true;
  turns_.erase(turn->id);
  deadlines_.erase({turn->request.deadline_ns, turn->id});
  Request request = std::exchange(turn->request, Request());
  turn->request.sequence = request.sequence;
  if (!turn->part().is_start) waiting.erase(place);
  return request;
}

std::int64_t SequenceModel::expire(std::int64_t now_ns) {
  end_idle(now_ns);
  const Status status = catch_no_memory([&]() -> Status {
    while (const auto turn = find_late(now_ns)) {
      // Before the request leaves the line: without memory for its answer it stays there.
      Reply reply = runtime::failed_reply(runtime_error(
          RuntimeCode::kTimeout, "the deadline passed while earlier requests of the sequence ran"));
      const std::optional<Request> late = with_lock(mutex_, [&] { return end_waiting(turn); });
      if (!late) continue;  // its turn came, or it was cancelled
      if (late->on_done) late->on_done(std::move(reply));
      model_->tell_waiters();
    }
    return ok_status();
  });
  const std::lock_guard lock(mutex_);
  look_ns_ = next_look_ns();
  if (!status.is_ok()) look_ns_ = std::max(look_ns_, now_ns + kRetryNs);
  return look_ns_;
}

void SequenceModel::drop(sandbox::OwnerId owner) {
  const auto number = static_cast<std::uint64_t>(owner);
  std::vector<std::shared_ptr<Sequence>> gone;  // their memory goes behind the lock
  const std::lock_guard lock(mutex_);
  for (auto it = sequences_.lower_bound({number, ""});
       it != sequences_.end() && it->first.first == number;) {
    const std::shared_ptr<Sequence> sequence = it++->second;
    sequence->is_dropped = true;
    if (sequence->is_busy) continue;  // `leave` removes it
    gone.push_back(sequence);
    rouse(*sequence);
    remove(*sequence);
  }
}

/// Requires: mutex_ is held, as for the next one.
std::int64_t SequenceModel::next_look_ns() const {
  std::int64_t next_ns = deadlines_.empty() ? kNoDeadline : deadlines_.begin()->first;
  if (!idle_.empty()) next_ns = std::min(next_ns, idle_.front()->idle_since_ns + max_idle_ns_);
  return next_ns;
}

/// When the exchange's thread has to come, for `look_at` behind the lock; kNoDeadline if it comes
/// early enough.
std::int64_t SequenceModel::earlier_look_ns() {
  const std::int64_t next_ns = next_look_ns();
  if (exchange_ == nullptr || next_ns >= look_ns_) return kNoDeadline;
  look_ns_ = next_ns;
  return next_ns;
}

void SequenceModel::look_at(std::int64_t at_ns) const {
  if (at_ns != kNoDeadline) exchange_->look_at(at_ns);
}

// ---- a turn

std::vector<SequenceModel::State> SequenceModel::first_states() const {
  std::vector<State> states;
  for (const SequenceLayout::State& state : layout_.states) {
    // The layout keeps the bytes, and a turn the layout.
    states.push_back({state.initial, nullptr, nullptr});
  }
  return states;
}

/// The answer may come on another thread before this returns, and with it the next turn.
Status SequenceModel::run(const std::shared_ptr<Turn>& turn) {
  std::vector<State> before;  // goes behind the lock
  {
    const std::lock_guard lock(mutex_);
    Sequence& sequence = *turn->sequence;
    if (turn->part().is_start) {
      // First of all: without its START a sequence does not go on with the states before it.
      sequence.is_open = false;
      before = std::exchange(sequence.states, {});
      turn->states = first_states();
    }
    if (turn->is_cancelled) return cancelled();
    if (!turn->part().is_start) {
      if (!sequence.is_open) return not_started(turn->part());
      turn->states = sequence.states;
    }
  }
  Request inner = request_of(turn);
  const auto id = model_->submit(inner);
  if (!id.is_ok()) return id.status();
  const bool is_cancelled = with_lock(mutex_, [&] {
    turn->model_id = *id;
    return turn->is_cancelled;
  });
  if (is_cancelled) model_->cancel(*id);
  return ok_status();
}

TensorView SequenceModel::input_of(const Turn& turn, std::size_t input) const {
  using Control = terms::SequenceControl::Kind;
  const SequenceLayout::Place& place = layout_.inputs[input];
  if (place.kind == InputKind::kClient) return turn.request.inputs[place.index];
  if (place.kind == InputKind::kState) return turn.states[place.index].view;
  const SequenceLayout::Control& control = layout_.controls[place.index];
  const Control kind = control.declared.kind;
  const bool is_true = kind == Control::kReady ||
                       (kind == Control::kStart && turn.part().is_start) ||
                       (kind == Control::kEnd && turn.part().is_end);
  const Bytes& flag = is_true ? control.true_bytes : control.false_bytes;
  const Bytes& bytes = kind == Control::kCorrelationId ? turn.ids[place.index] : flag;
  // Read only, as every input.
  auto* data =
      const_cast<std::byte*>(bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return {data, static_cast<std::int64_t>(bytes.size()), control.declared.element, control.dims};
}

Request SequenceModel::request_of(const std::shared_ptr<Turn>& turn) {
  const Request& from = turn->request;
  Request inner;
  for (std::size_t i = 0; i < layout_.inputs.size(); ++i) {
    inner.inputs.push_back(input_of(*turn, i));
  }
  if (!from.outputs.empty()) {
    inner.outputs.resize(layout_.outputs.size());
    for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
      const SequenceLayout::Output& place = layout_.outputs[i];
      if (place.state || *place.client >= from.outputs.size()) continue;
      inner.outputs[i] = from.outputs[*place.client];
    }
  }
  // Without an owner the client waits until no device uses the inputs; so does this request.
  if (from.memory_owner != nullptr) inner.memory_owner = turn;
  inner.deadline_ns = from.deadline_ns;
  inner.since_ns = from.since_ns;
  inner.max_run_ns = from.max_run_ns;
  inner.priority = from.priority;
  inner.wants_detail = from.wants_detail;
  inner.exchange_owner = from.exchange_owner;
  inner.will_wait = from.will_wait;
  inner.on_done = [self = shared_from_this(), turn](Reply reply) {
    self->take(turn, std::move(reply));
  };
  return inner;
}

/// A thread of the model comes here, so a lack of memory becomes the answer.
void SequenceModel::take(const std::shared_ptr<Turn>& turn, Reply reply) {
  std::vector<State> states;
  if (!reply.outputs.empty()) {
    auto taken = catch_no_memory([&] { return take_states(*turn, reply); });
    if (taken.is_ok()) {
      states = std::move(*taken);
      const std::lock_guard lock(mutex_);
      std::swap(turn->sequence->states, states);  // the old ones go behind the lock
      turn->sequence->is_open = !turn->part().is_end;
    } else {
      reply = runtime::failed_reply(taken.status());
    }
  }
  const auto on_done = std::exchange(turn->request.on_done, nullptr);
  auto next = leave(*turn);
  if (on_done) on_done(std::move(reply));
  go_on(std::move(next));
}

/// Leaves the client's outputs in the reply.
Result<std::vector<SequenceModel::State>> SequenceModel::take_states(const Turn& turn,
                                                                     Reply& reply) const {
  std::vector<State> states(layout_.states.size());
  std::vector<terms::OutputTensor> client(layout_.client.outputs.size());
  for (std::size_t i = 0; i < layout_.outputs.size(); ++i) {
    const SequenceLayout::Output& place = layout_.outputs[i];
    terms::OutputTensor& output = reply.outputs[i];
    if (place.state && !turn.part().is_end) {
      states[*place.state] = SLUICE_TRY(keep(turn, *place.state, output));
    }
    if (!place.client) continue;
    if (place.state) SLUICE_TRY(give(turn.request, *place.client, output));
    client[*place.client] = std::move(output);
  }
  reply.outputs = std::move(client);
  return states;
}

Result<SequenceModel::State> SequenceModel::keep(const Turn& turn, std::size_t index,
                                                 terms::OutputTensor output) const {
  State state = {std::move(output.view), std::move(output.owner), nullptr};
  if (exchange_ != nullptr && turn.request.exchange_owner != 0) {
    // A state of the same size takes the room of the one that it replaces.
    const State& before = turn.states[index];
    if (before.view.size_bytes == state.view.size_bytes) state.room = before.room;
    if (state.room == nullptr) {
      state.room = SLUICE_TRY(
          exchange_
              ->reserve(sandbox::OwnerId{turn.request.exchange_owner}, state.view.size_bytes,
                        sandbox::RoomKind::kState)
              .with_context(fmt::format("the state of sequence {}", shown(turn.part()))));
    }
  }
  if (model_->batch_rows() == 1) return state;
  auto copy = allocate_aligned(static_cast<std::uint64_t>(state.view.size_bytes));
  SLUICE_TRY(copy_bytes(state.view, copy.get()));
  state.view.data = copy.get();
  state.owner = std::move(copy);
  return state;
}

/// The turn is over. Returns the next one of its sequence, if one waits.
std::shared_ptr<SequenceModel::Turn> SequenceModel::leave(const Turn& turn) {
  std::shared_ptr<Turn> next;
  std::int64_t look_ns = kNoDeadline;
  {
    const std::lock_guard lock(mutex_);
    turns_.erase(turn.id);
    Sequence& sequence = *turn.sequence;
    if (!sequence.waiting.empty()) {
      next = std::move(sequence.waiting.front());
      sequence.waiting.pop_front();
      deadlines_.erase({next->request.deadline_ns, next->id});
    } else if (sequence.is_open && !sequence.is_dropped) {
      rest(sequence);
      look_ns = earlier_look_ns();
    } else {
      remove(sequence);
    }
  }
  look_at(look_ns);
  return next;
}

/// Runs the turn; those that the model refuses are answered here. A START that ended while it
/// waited has its answer.
void SequenceModel::go_on(std::shared_ptr<Turn> turn) {
  while (turn != nullptr) {
    const Status status = catch_no_memory([&] { return run(turn); });
    if (status.is_ok()) return;
    const auto on_done = std::exchange(turn->request.on_done, nullptr);
    auto next = leave(*turn);
    if (on_done) on_done(runtime::failed_reply(status));
    model_->tell_waiters();
    turn = std::move(next);
  }
}

bool SequenceModel::cancel(std::uint64_t id) {
  std::shared_ptr<Turn> turn;
  std::optional<std::uint64_t> model_id;
  std::optional<Request> waited;
  {
    const std::lock_guard lock(mutex_);
    const auto it = turns_.find(id);
    if (it == turns_.end()) return false;
    turn = it->second;
    model_id = turn->model_id;
    waited = end_waiting(turn);
    turn->is_cancelled = true;
  }
  if (!waited) return !model_id || model_->cancel(*model_id);  // without an id `run` sees it
  if (waited->on_done) waited->on_done(runtime::failed_reply(cancelled()));
  model_->tell_waiters();
  return true;
}

}  // namespace sluice::service
