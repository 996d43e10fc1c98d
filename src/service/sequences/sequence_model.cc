#include "service/sequences/sequence_model.h"

#include <algorithm>
#include <cstring>

#include "service/sequences/control_values.h"

namespace sluice::service {

using runtime::Reply;
using runtime::Request;
using terms::runtime_error;
using terms::TensorView;
using Kind = SequenceLayout::Kind;

namespace {

constexpr std::int64_t kNsPerUs = 1000;
// An id is a client's, and may be as long as a message.
constexpr std::size_t kMaxIdBytes = 256;

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
  auto layout = SLUICE_TRY(lay_out(*declared.sequences, model->signature(), has_rows));
  return std::shared_ptr<SequenceModel>(
      new SequenceModel(std::move(name), std::move(model), std::move(layout), has_rows,
                        declared.sequences->max_idle_us * kNsPerUs, exchange, limits));
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
    return runtime_error(RuntimeCode::kBadInput, "model \"{}\" has {} inputs, {} came", name_,
                         layout_.client.inputs.size(), request.inputs.size());
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

/// Requires: mutex_ is held, as for the functions down to `submit`.
Result<std::shared_ptr<SequenceModel::Sequence>> SequenceModel::enter(
    const Key& key, const terms::SequencePart& part) {
  const auto it = sequences_.find(key);
  const bool is_there = it != sequences_.end();
  if (!part.is_start && (!is_there || it->second->has_ended)) {
    return runtime_error(RuntimeCode::kBadInput,
                         "inference request for sequence {} to model '{}' must specify the START "
                         "flag on the first request of the sequence",
                         shown(part), name_);
  }
  if (!is_there) return begin(key);
  const std::size_t num_waiting = it->second->waiting.size();
  if (num_waiting >= limits_.max_waiting) {
    return runtime_error(RuntimeCode::kQueueFull,
                         "model \"{}\": {} requests of sequence {} wait, which is the limit", name_,
                         num_waiting, shown(part));
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
  ++num;
  auto sequence = std::make_shared<Sequence>();
  sequence->key = key;
  sequences_.emplace(key, sequence);
  rest(sequence);
  return sequence;
}

void SequenceModel::rest(const std::shared_ptr<Sequence>& sequence) {
  sequence->is_busy = false;
  sequence->idle_since_ns = clock().now_ns();
  sequence->place = idle_.insert(idle_.end(), sequence->key);
}

/// Requires: it is idle no longer.
void SequenceModel::remove(const std::shared_ptr<Sequence>& sequence) {
  const auto num = num_of_owner_.find(sequence->key.first);
  if (--num->second == 0) num_of_owner_.erase(num);
  sequences_.erase(sequence->key);
}

void SequenceModel::expire(std::vector<std::shared_ptr<Sequence>>& expired) {
  const std::int64_t now_ns = clock().now_ns();
  while (!idle_.empty()) {
    const auto& sequence = sequences_.find(idle_.front())->second;
    if (now_ns - sequence->idle_since_ns < max_idle_ns_) return;
    expired.push_back(sequence);
    idle_.pop_front();
    remove(expired.back());
  }
}

Result<std::uint64_t> SequenceModel::submit(Request& request) {
  SLUICE_TRY(check(request));
  const auto turn = std::make_shared<Turn>();
  turn->ids = SLUICE_TRY(ids_of(*request.sequence));
  const Key key = {request.exchange_owner, key_of(*request.sequence)};
  std::vector<std::shared_ptr<Sequence>> expired;  // their memory goes behind the lock
  {
    const std::lock_guard lock(mutex_);
    expire(expired);
    turn->sequence = SLUICE_TRY(enter(key, *request.sequence));
    Sequence& sequence = *turn->sequence;
    sequence.has_ended = request.sequence->is_end;
    turn->id = ++last_id_;
    turn->request = std::move(request);
    turns_.emplace(turn->id, turn);
    if (sequence.is_busy) {
      turn->request.will_wait = false;  // another thread submits it
      sequence.waiting.push_back(turn);
      return turn->id;
    }
    sequence.is_busy = true;
    idle_.erase(sequence.place);
  }
  const Status status = run(turn);
  if (status.is_ok()) return turn->id;
  {
    // The client will send the request again: a refused start begins no sequence, a refused end
    // ends none.
    const std::lock_guard lock(mutex_);
    if (turn->sequence->waiting.empty()) turn->sequence->has_ended = turn->part().is_start;
  }
  auto next = leave(*turn);
  request = std::move(turn->request);
  go_on(std::move(next));
  return status;
}

// ---- a turn

std::vector<SequenceModel::State> SequenceModel::first_states() const {
  std::vector<State> states;
  for (const SequenceLayout::State& state : layout_.states) {
    // This object keeps the bytes, and a turn this object.
    states.push_back({state.initial, nullptr, nullptr});
  }
  return states;
}

/// The answer may come on another thread before this returns, and with it the next turn.
Status SequenceModel::run(const std::shared_ptr<Turn>& turn) {
  std::vector<State> before;  // goes behind the lock
  {
    const std::lock_guard lock(mutex_);
    if (turn->is_cancelled) {
      return runtime_error(RuntimeCode::kCancelled, "the request was cancelled");
    }
    if (turn->part().is_start) {
      before = std::exchange(turn->sequence->states, first_states());
    }
    turn->states = turn->sequence->states;
  }
  Request inner = request_of(turn);
  const auto id = model_->submit(inner);
  if (!id.is_ok()) return id.status();
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    turn->model_id = *id;
    is_cancelled = turn->is_cancelled;
  }
  if (is_cancelled) model_->cancel(*id);
  return ok_status();
}

TensorView SequenceModel::input_of(const Turn& turn, std::size_t input) const {
  using Control = terms::SequenceControl::Kind;
  const SequenceLayout::Place& place = layout_.inputs[input];
  if (place.kind == Kind::kClient) return turn.request.inputs[place.index];
  if (place.kind == Kind::kState) return turn.states[place.index].view;
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
      const SequenceLayout::Place& place = layout_.outputs[i];
      if (place.kind != Kind::kClient || place.index >= from.outputs.size()) continue;
      inner.outputs[i] = from.outputs[place.index];
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

void SequenceModel::take(const std::shared_ptr<Turn>& turn, Reply reply) {
  std::vector<State> states;
  bool has_states = !reply.outputs.empty();
  if (has_states) {
    auto taken = take_states(*turn, reply);
    has_states = taken.is_ok();
    if (has_states) {
      states = std::move(*taken);
    } else {
      reply = runtime::failed_reply(taken.status());
    }
  }
  if (has_states) {
    const std::lock_guard lock(mutex_);
    std::swap(turn->sequence->states, states);  // the old ones go behind the lock
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
    const SequenceLayout::Place& place = layout_.outputs[i];
    if (place.kind == Kind::kClient) {
      client[place.index] = std::move(reply.outputs[i]);
    } else if (!turn.part().is_end) {
      states[place.index] = SLUICE_TRY(keep(turn, std::move(reply.outputs[i])));
    }
  }
  reply.outputs = std::move(client);
  return states;
}

Result<SequenceModel::State> SequenceModel::keep(const Turn& turn,
                                                 terms::OutputTensor output) const {
  State state = {std::move(output.view), std::move(output.owner), nullptr};
  if (exchange_ != nullptr && turn.request.exchange_owner != 0) {
    state.room = SLUICE_TRY(
        exchange_->reserve(sandbox::OwnerId{turn.request.exchange_owner}, state.view.size_bytes)
            .with_context(fmt::format("the state of sequence {}", shown(turn.part()))));
  }
  if (model_->batch_rows() == 1) return state;
  const auto size = static_cast<std::size_t>(state.view.size_bytes);
  auto copy = std::make_shared<std::vector<std::byte>>(size);
  if (size > 0) std::memcpy(copy->data(), state.view.data, size);
  state.view.data = copy->data();
  state.owner = std::move(copy);
  return state;
}

/// The turn is over. Returns the next one of its sequence, if one waits.
std::shared_ptr<SequenceModel::Turn> SequenceModel::leave(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  turns_.erase(turn.id);
  const std::shared_ptr<Sequence>& sequence = turn.sequence;
  if (!sequence->waiting.empty()) {
    auto next = std::move(sequence->waiting.front());
    sequence->waiting.pop_front();
    return next;
  }
  if (sequence->has_ended) {
    remove(sequence);
  } else {
    rest(sequence);
  }
  return nullptr;
}

/// Runs the turn; those that the model refuses are answered here.
void SequenceModel::go_on(std::shared_ptr<Turn> turn) {
  while (turn != nullptr) {
    const Status status = run(turn);
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
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = turns_.find(id);
    if (it == turns_.end()) return false;
    turn = it->second;
    turn->is_cancelled = true;
    model_id = turn->model_id;
    Sequence& sequence = *turn->sequence;
    was_waiting = std::erase(sequence.waiting, turn) > 0;
    if (was_waiting) {
      turns_.erase(it);
      // Another request may have begun the sequence anew since.
      if (turn->part().is_end && sequence.has_ended) sequence.has_ended = false;
    }
  }
  if (!was_waiting) return !model_id || model_->cancel(*model_id);  // without an id `run` sees it
  const auto on_done = std::exchange(turn->request.on_done, nullptr);
  const Status status = runtime_error(RuntimeCode::kCancelled, "the request was cancelled");
  if (on_done) on_done(runtime::failed_reply(status));
  model_->tell_waiters();
  return true;
}

}  // namespace sluice::service
