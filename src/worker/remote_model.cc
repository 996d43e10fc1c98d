#include "worker/remote_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/checked.h"

namespace sluice::worker {

using runtime::ModelPhase;
using runtime::Reply;
using runtime::RuntimeCode;

namespace {

constexpr std::int64_t kTableBytes = 4096;
constexpr std::int64_t kFirstRoomBytes = 64 << 10;
constexpr std::int64_t kMostFirstRoomBytes = std::int64_t{1} << 30;
constexpr std::int64_t kAlignmentBytes = 64;

/// For all outputs whose size is known, with some more for those that are not.
std::int64_t first_room(const package::Signature& signature) {
  std::int64_t bytes = kTableBytes;
  for (const package::TensorSpec& spec : signature.outputs) {
    const auto dims = spec.type.static_dims();
    const auto count = dims ? checked_product(*dims) : std::nullopt;
    const auto known = count ? ir::storage_bytes(spec.type.element(), *count) : std::nullopt;
    bytes += std::min(known.value_or(kFirstRoomBytes), kMostFirstRoomBytes) + kAlignmentBytes;
  }
  return bytes;
}

Reply failed_reply(const Status& status) {
  return {runtime::runtime_code_of(status), runtime::ErrorList(status), {}, {}};
}

runtime::ErrorList errors_of(const Bundle& bundle) {
  runtime::ErrorList errors;
  for (const Bundle::Error& error : bundle.errors) {
    const auto code = runtime::describe(static_cast<RuntimeCode>(error.runtime_code)).code;
    errors.add(
        runtime_error(code == RuntimeCode::kOk ? RuntimeCode::kFailed : code, "{}", error.message));
  }
  return errors;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

RemoteModel::RemoteModel(Parts parts)
    : parts_(std::move(parts)),
      statistics_(std::make_shared<runtime::ModelStatistics>(
          std::vector<std::vector<runtime::LaneCores>>{parts_.cores})),
      room_bytes_(first_room(parts_.signature)) {
  set_phase(ModelPhase::kLoaded);
}

runtime::ModelInfo RemoteModel::info() const {
  runtime::ModelInfo info = parts_.info;
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
      refusal_ =
          runtime_error(RuntimeCode::kFailed, "model \"{}\" is not started; start it first", name);
      break;
    case ModelPhase::kStopped:
      refusal_ =
          runtime_error(RuntimeCode::kFailed, "model \"{}\" is stopped; start it first", name);
      break;
    case ModelPhase::kFailed:
      refusal_ = runtime_error(RuntimeCode::kModelFailed, "model \"{}\" has failed: {}", name, why);
      break;
    case ModelPhase::kUnloaded:
      refusal_ = runtime_error(RuntimeCode::kInvalidHandle, "model \"{}\" is unloaded", name);
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
    return runtime_error(RuntimeCode::kBadInput, "model \"{}\" takes {} inputs, got {}",
                         parts_.info.name, expected, request.inputs.size());
  }
  for (const runtime::OutputMemory& output : request.outputs) {
    if (output.data == nullptr) continue;
    return runtime_error(
        RuntimeCode::kInvalid,
        "model \"{}\" runs in a worker, whose answers bring their own memory; give "
        "none for its outputs",
        parts_.info.name);
  }
  if (request.deadline_ns != kNoDeadline && request.deadline_ns <= system_clock().now_ns()) {
    return runtime_error(RuntimeCode::kTimeout,
                         "model \"{}\": the deadline had passed before the request came",
                         parts_.info.name);
  }
  return ok_status();
}

/// Its place among the requests in flight; `request` is left without its on_done.
Result<std::uint64_t> RemoteModel::enter(runtime::Request& request) {
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(Status(refusal_));
  if (static_cast<int>(flights_.size()) >= depth()) {
    return runtime_error(RuntimeCode::kQueueFull,
                         "model \"{}\": {} requests are in flight, its depth; wait for an answer",
                         parts_.info.name, flights_.size());
  }
  const std::uint64_t id = next_id_++;
  Flight& flight = flights_[id];
  flight.on_done = std::move(request.on_done);
  flight.wants_detail = request.wants_detail;
  flight.start_ns = system_clock().now_ns();
  return id;
}

Status RemoteModel::send(std::uint64_t id, const runtime::Request& request) {
  const auto link = SLUICE_TRY(parts_.link->get());
  Inference inference;
  inference.model = worker_model_;
  inference.request.numbers[0] = request.wants_detail ? 1 : 0;
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
  if (it == flights_.end()) return ok_status();  // answered already
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
    if (!flight) return id;  // cancelled meanwhile, which was its answer
    request.on_done = std::move(flight->on_done);
  }
  if (!status.is_ok()) {
    statistics_->count_refused();
    return status;
  }
  statistics_->count_accepted();
  return id;
}

std::optional<RemoteModel::Flight> RemoteModel::leave(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(id);
  if (it == flights_.end()) return std::nullopt;
  Flight flight = std::move(it->second);
  flights_.erase(it);
  return flight;
}

bool RemoteModel::cancel(std::uint64_t id) {
  const auto flight = leave(id);
  if (!flight) return false;
  if (const auto link = flight->link.lock()) link->cancel(flight->link_id);
  record(*flight, RuntimeCode::kCancelled, {});
  answer(*flight, failed_reply(runtime_error(RuntimeCode::kCancelled, "model \"{}\": cancelled",
                                             parts_.info.name)));
  return true;
}

void RemoteModel::take(std::uint64_t id, Answer answer) {
  const auto flight = leave(id);
  if (!flight) return;  // cancelled
  Bundle& bundle = answer.bundle;
  std::int64_t room = room_bytes_;
  while (answer.num_bytes > room && !room_bytes_.compare_exchange_weak(room, answer.num_bytes)) {
  }
  Reply reply;
  reply.code = answer.code;
  reply.errors = errors_of(bundle);
  const bool has_outputs = bundle.tensors.size() == parts_.signature.outputs.size();
  if (reply.code == RuntimeCode::kOk && !has_outputs) {
    reply = failed_reply(runtime_error(RuntimeCode::kCompletedWithError,
                                       "the worker's answer has {} outputs, the model {}",
                                       bundle.tensors.size(), parts_.signature.outputs.size()));
  } else if (reply.code != RuntimeCode::kOk && reply.errors.empty()) {
    reply.errors.add(runtime_error(reply.code, "model \"{}\"", parts_.info.name));
  }
  if (has_outputs) {
    for (exec::TensorView& view : bundle.tensors) {
      reply.outputs.push_back({std::move(view), answer.memory});
    }
  }
  if (flight->wants_detail) {
    reply.detail = parts_.where;
    reply.detail.backends = split(bundle.text);
    reply.detail.queue_ns = bundle.numbers[0];
    reply.detail.copy_ns = bundle.numbers[1];
    reply.detail.compute_ns = bundle.numbers[2];
  }
  const bool is_of_device =
      reply.code == RuntimeCode::kModelFailed || reply.code == RuntimeCode::kDeviceError;
  // The worker's own words, not those of its death.
  if (is_of_device && answer.num_bytes > 0 && phase() == ModelPhase::kStarted) {
    set_phase(ModelPhase::kFailed, reply.errors.to_status().message());
  }
  record(*flight, reply.code, bundle);
  this->answer(*flight, std::move(reply));
}

void RemoteModel::record(const Flight& flight, RuntimeCode code, const Bundle& bundle) {
  const auto positive = [&](std::size_t i) { return std::max<std::int64_t>(bundle.numbers[i], 0); };
  const std::lock_guard lock(statistics_mutex_);
  statistics_->count_answer(code);
  if (bundle.tensors.empty()) return;
  statistics_->record(
      {positive(0), positive(1), positive(2), system_clock().now_ns() - flight.start_ns});
  statistics_->add_busy(positive(2));
  statistics_->add_lane_busy(0, positive(2));
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
    told_.wait_for(lock, std::chrono::nanoseconds(std::min(deadline_ns - now_ns, kLongestNs)),
                   is_told);
  }
}

void RemoteModel::tell_waiters() {
  {
    const std::lock_guard lock(mutex_);
    ++num_told_;
  }
  told_.notify_all();
}

}  // namespace sluice::worker
