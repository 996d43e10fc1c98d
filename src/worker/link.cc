#include "worker/link.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::worker {

using nlohmann::json;
using runtime::RuntimeCode;

namespace {

constexpr std::int64_t kStartTimeoutNs = 60'000'000'000;
/// How long a call that was cancelled may take to end.
constexpr std::int64_t kCancelTimeoutNs = 10'000'000'000;
constexpr std::int64_t kSpinNs = 50'000;
constexpr std::int64_t kSleepNs = 100'000'000;
/// The worker itself keeps deadlines; after so long somebody else must.
constexpr std::int64_t kDeadlineGraceNs = 100'000'000;
constexpr std::int64_t kLeastRoomBytes = 8 << 10;
constexpr std::int64_t kMostRoomBytes = std::int64_t{2} << 30;

std::chrono::steady_clock::time_point after(std::int64_t timeout_ns) {
  using std::chrono::steady_clock;
  constexpr std::int64_t kDecade = std::int64_t{300'000'000} * 1'000'000'000;
  return steady_clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kDecade));
}

Answer failure(const Status& status) {
  Answer answer;
  answer.code = runtime::runtime_code_of(status);
  answer.bundle.errors.push_back({static_cast<std::int32_t>(answer.code), status.message()});
  return answer;
}

shm::RingTensor place_of(const Arena::Block& block) {
  shm::RingTensor place;
  place.offset = block.offset();
  place.bytes = block.size_bytes();
  return place;
}

}  // namespace

Result<std::shared_ptr<WorkerLink>> WorkerLink::start(const LinkOptions& options,
                                                      std::function<void(const Status&)> on_death) {
  auto arena = SLUICE_TRY(Arena::create());
  auto sockets = SLUICE_TRY(Channel::make_pair());
  auto process = SLUICE_TRY(Process::start(options.program, sockets.other));
  { const shm::Fd theirs = std::move(sockets.other); }  // so that its death closes the connection
  std::shared_ptr<WorkerLink> link(new WorkerLink(options, std::move(on_death), std::move(process),
                                                  std::move(sockets.one), arena));
  link->receiver_ = std::thread([raw = link.get()] { raw->take_completions(); });
  link->reader_ = std::thread([raw = link.get()] { raw->read_messages(); });
  const auto begin = [&]() -> Status {
    SLUICE_TRY(link->call({{"op", "memory"}}, arena->fd(), kStartTimeoutNs));
    const shm::Fd text = SLUICE_TRY(text_file(options.start));
    SLUICE_TRY(link->call({{"op", "start"}}, text.get(), kStartTimeoutNs));
    return ok_status();
  };
  const Status status = begin();
  if (status.is_ok()) {
    const std::lock_guard lock(link->mutex_);
    link->is_ready_ = true;
    return link;
  }
  link->close();
  return status;
}

WorkerLink::WorkerLink(const LinkOptions& options, std::function<void(const Status&)> on_death,
                       std::unique_ptr<Process> process, shm::Fd socket,
                       std::shared_ptr<Arena> arena)
    : options_(options),
      on_death_(std::move(on_death)),
      process_(std::move(process)),
      channel_(std::move(socket)),
      arena_(std::move(arena)),
      ring_(arena_->memory(), kRingEntries) {}

WorkerLink::~WorkerLink() { close(); }

void WorkerLink::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  process_->kill();
  channel_.shut_down();
  if (reader_.joinable()) reader_.join();
  is_receiving_ = false;
  ring_.wake();
  if (receiver_.joinable()) receiver_.join();
}

// ---- calls

Status WorkerLink::dead_locked() const { return is_dead_ ? cause_ : ok_status(); }

Result<json> WorkerLink::call(json message, int fd, std::int64_t timeout_ns,
                              const std::stop_token& stop) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(dead_locked());
    id = next_id_++;
    calls_[id];
  }
  message["id"] = id;
  const auto send = [this](const json& body, int file) {
    const std::lock_guard lock(send_mutex_);
    return channel_.send(body, file);
  };
  const Status sent = send(message, fd);
  if (!sent.is_ok()) process_->kill();  // its end is read, and answers
  std::unique_lock lock(mutex_);
  const auto is_answered = [&] { return calls_[id].answer.has_value(); };
  bool has_come = answered_.wait_until(lock, stop, after(timeout_ns), is_answered);
  if (!has_come && stop.stop_requested()) {
    lock.unlock();
    const Status cancelled = send({{"op", "cancel"}, {"call", id}, {"id", 0}}, -1);
    (void)cancelled;  // then it is dead, and the call is answered
    lock.lock();
    has_come = answered_.wait_until(lock, after(kCancelTimeoutNs), is_answered);
  }
  if (!has_come) {
    process_->kill();
    answered_.wait(lock, is_answered);
  }
  auto answer = std::move(*calls_[id].answer);
  calls_.erase(id);
  return answer;
}

void WorkerLink::read_messages() {
  while (true) {
    const auto message = channel_.receive();
    if (!message.is_ok()) break;
    take_message(message->body);
  }
  die();
}

void WorkerLink::take_message(const json& message) {
  const auto id = runtime::JsonValue(message, "").int_or("id", 0, 0, std::int64_t{1} << 62);
  if (!id.is_ok()) return;
  const Status status = status_from_json(message);
  const std::lock_guard lock(mutex_);
  const auto it = calls_.find(static_cast<std::uint64_t>(*id));
  if (it == calls_.end() || it->second.answer) return;
  it->second.answer = status.is_ok() ? Result<json>(message) : Result<json>(status);
  answered_.notify_all();
}

// ---- inference

Status WorkerLink::submit_locked(const shm::Submission& entry) {
  if (ring_.submit(entry)) return ok_status();
  return runtime_error(RuntimeCode::kQueueFull, "{}: {} requests are on their way to it",
                       options_.name, kRingEntries);
}

Result<std::uint64_t> WorkerLink::infer(Inference& inference) {
  Flight flight;
  flight.request = SLUICE_TRY(arena_->allocate(bundle_bytes(inference.request)));
  flight.room = std::make_shared<Arena::Block>(
      SLUICE_TRY(arena_->allocate(std::max(inference.room_bytes, kLeastRoomBytes))));
  write_bundle(inference.request, flight.request.memory());
  shm::Submission entry;
  entry.head.model = inference.model;
  entry.head.priority = inference.priority;
  entry.head.num_inputs = 1;
  entry.head.num_outputs = 1;
  entry.tensors[0] = place_of(flight.request);
  entry.tensors[1] = place_of(*flight.room);
  if (inference.deadline_ns != kNoDeadline) {
    const std::int64_t left_ns = inference.deadline_ns - system_clock().now_ns();
    entry.head.timeout_ns = std::max<std::int64_t>(left_ns, 1);
    flight.deadline_ns = inference.deadline_ns + kDeadlineGraceNs;
  }
  const std::lock_guard lock(mutex_);
  SLUICE_TRY(dead_locked());
  const std::uint64_t id = next_id_++;
  entry.head.request = id;
  SLUICE_TRY(submit_locked(entry));
  flight.on_answer = std::move(inference.on_answer);
  flights_[id] = std::move(flight);
  return id;
}

void WorkerLink::cancel(std::uint64_t id) {
  shm::Submission entry;
  entry.head.model = id;
  const std::lock_guard lock(mutex_);
  if (is_dead_ || !flights_.contains(id)) return;
  entry.head.request = next_id_++;
  const Status status = submit_locked(entry);
  (void)status;  // where the ring is full the request runs to its end
}

void WorkerLink::take_completions() {
  shm::Completion completion;
  while (is_receiving_) {
    if (ring_.take(completion)) {
      take(completion);
      continue;
    }
    if (ring_.is_closed()) process_->kill();  // no worker of ours does that
    expire(system_clock().now_ns());
    ring_.wait(kSpinNs, kSleepNs);
  }
}

/// The answer was too long for its room. Called with the lock held; false if it cannot be had.
bool WorkerLink::ask_for_rest(Flight& flight, std::int64_t num_bytes) {
  if (num_bytes <= static_cast<std::int64_t>(flight.room->size_bytes())) return false;
  if (num_bytes > kMostRoomBytes) return false;
  auto room = arena_->allocate(num_bytes);
  if (!room.is_ok()) return false;
  flight.room = std::make_shared<Arena::Block>(std::move(*room));
  return true;
}

void WorkerLink::take(const shm::Completion& completion) {
  const std::uint64_t id = completion.head.request;
  const auto num_bytes = static_cast<std::int64_t>(completion.outputs[0].bytes);
  Flight flight;
  {
    const std::lock_guard lock(mutex_);
    const auto it = flights_.find(id);
    if (it == flights_.end()) return;  // that of a cancellation
    const bool is_long =
        completion.head.status_code == static_cast<std::int32_t>(Code::kOutOfRange);
    if (is_long && !is_dead_ && ask_for_rest(it->second, num_bytes)) {
      shm::Submission entry;
      entry.head.request = id;
      entry.head.model = id;
      entry.head.num_outputs = 1;
      entry.tensors[0] = place_of(*it->second.room);
      if (submit_locked(entry).is_ok()) return;
    }
    flight = std::move(it->second);
    flights_.erase(it);
  }
  if (!flight.on_answer) return;
  const std::span<std::byte> room = flight.room->memory();
  const bool is_there = completion.head.status_code == 0 && num_bytes >= 0 &&
                        num_bytes <= static_cast<std::int64_t>(room.size());
  auto bundle = is_there
                    ? read_bundle(room.first(static_cast<std::size_t>(num_bytes)))
                    : Result<Bundle>(make_error(Code::kResourceExhausted,
                                                "an answer of {} bytes has no room", num_bytes));
  if (!bundle.is_ok()) {
    flight.on_answer(failure(bundle.status().with_context(options_.name)));
    return;
  }
  const auto code = static_cast<RuntimeCode>(completion.head.runtime_code);
  flight.on_answer({runtime::describe(code).code, std::move(*bundle), num_bytes, flight.room});
}

void WorkerLink::expire(std::int64_t now_ns) {
  std::vector<std::function<void(Answer)>> expired;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, flight] : flights_) {
      if (flight.deadline_ns > now_ns || !flight.on_answer) continue;
      expired.push_back(std::exchange(flight.on_answer, nullptr));  // its memory stays in use
    }
  }
  for (const auto& on_answer : expired) {
    on_answer(failure(runtime_error(RuntimeCode::kTimeout, "{} does not answer", options_.name)));
  }
}

// ---- its end

void WorkerLink::die() {
  const std::string end = process_->end();
  Flights flights;
  Status cause;
  bool is_closing = false;
  {
    const std::lock_guard lock(mutex_);
    is_closing = is_closing_;
    cause = is_closing
                ? runtime_error(RuntimeCode::kCancelled, "{} was ended", options_.name)
                : runtime_error(
                      RuntimeCode::kDeviceError, "{} died of {}{}", options_.name, end,
                      is_ready_ ? "; it is being restarted, try again" : " before it was ready");
    is_dead_ = true;
    cause_ = cause;
    flights = std::exchange(flights_, {});
    for (auto& [id, call] : calls_) {
      if (!call.answer) call.answer = Result<json>(cause);
    }
    answered_.notify_all();
  }
  for (auto& [id, flight] : flights) {
    if (flight.on_answer) flight.on_answer(failure(cause));
  }
  if (!is_closing && on_death_) on_death_(cause);
}

}  // namespace sluice::worker
