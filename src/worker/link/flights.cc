#include "worker/link/flights.h"

#include <algorithm>
#include <vector>

#include "base/process/with_lock.h"

namespace sluice::worker {

namespace {

/// Longer than a short inference takes, so that a client in a loop pays no futex wake-up.
constexpr std::int64_t kSpinNs = 50'000;
/// Bounds how long a lost wake-up or an expired deadline goes unnoticed.
constexpr std::int64_t kSleepNs = 100'000'000;
/// The worker keeps deadlines itself. The daemon steps in only when the worker is this late.
constexpr std::int64_t kDeadlineGraceNs = 100'000'000;
/// An error always fits (kMaxErrors in program/requests.cc).
constexpr std::int64_t kLeastRoomBytes = 8 << 10;
/// A hostile worker may claim any size of its answer.
constexpr std::uint64_t kMaxRoomBytes = std::uint64_t{2} << 30;

Answer failure(const Status& status) {
  Answer answer;
  answer.code = terms::runtime_code_of(status);
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

Flights::Flights(std::shared_ptr<Arena> arena, std::string name)
    : arena_(std::move(arena)), name_(std::move(name)), ring_(arena_->memory(), kRingEntries) {}

Status Flights::submit_locked(const shm::Submission& entry) {
  if (ring_.submit(entry)) return ok_status();
  return terms::runtime_error(RuntimeCode::kQueueFull, "{}: {} requests are on their way to it",
                              name_, kRingEntries);
}

Result<std::uint64_t> Flights::infer(Inference& inference) {
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
  SLUICE_TRY(Status(end_));
  const std::uint64_t id = next_id_++;
  entry.head.request = id;
  SLUICE_TRY(submit_locked(entry));
  flight.on_answer = std::move(inference.on_answer);
  table_[id] = std::move(flight);
  return id;
}

void Flights::cancel(std::uint64_t id) {
  shm::Submission entry;
  entry.head.model = id;
  const std::lock_guard lock(mutex_);
  if (!table_.contains(id)) return;
  entry.head.request = next_id_++;
  (void)submit_locked(entry);  // if the ring is full, the request runs to its end
}

bool Flights::take_one() {
  shm::Completion completion;
  if (!ring_.take(completion)) return false;
  take(completion);
  return true;
}

void Flights::wait() { ring_.wait(kSpinNs, kSleepNs); }

/// Sends the worker a larger room for an answer that did not fit. False if there is no such room.
bool Flights::ask_for_rest(std::uint64_t id, Flight& flight, std::uint64_t num_bytes) {
  if (num_bytes <= flight.room->size_bytes() || num_bytes > kMaxRoomBytes) return false;
  auto room = arena_->allocate(static_cast<std::int64_t>(num_bytes));
  if (!room.is_ok()) return false;
  // The worker copies the outputs from the first room to the new one.
  if (flight.first_room == nullptr) flight.first_room = flight.room;
  flight.room = std::make_shared<Arena::Block>(std::move(*room));
  shm::Submission entry;
  entry.head.request = id;
  entry.head.model = id;
  entry.head.num_outputs = 1;
  entry.tensors[0] = place_of(*flight.room);
  return submit_locked(entry).is_ok();
}

void Flights::take(const shm::Completion& completion) {
  const std::uint64_t id = completion.head.request;
  const std::uint64_t num_bytes = completion.outputs[0].bytes;
  Flight flight;
  {
    const std::lock_guard lock(mutex_);
    const auto it = table_.find(id);
    if (it == table_.end()) return;  // the completion of a cancel entry
    const bool is_long =
        completion.head.status_code == static_cast<std::int32_t>(Code::kOutOfRange);
    if (is_long && ask_for_rest(id, it->second, num_bytes)) return;
    flight = std::move(it->second);
    table_.erase(it);
  }
  if (!flight.on_answer) return;
  const std::span<std::byte> room = flight.room->memory();
  const bool is_there = completion.head.status_code == 0 && num_bytes <= room.size();
  auto bundle = is_there
                    ? read_bundle(room.first(num_bytes))
                    : Result<Bundle>(make_error(Code::kResourceExhausted,
                                                "an answer of {} bytes has no room", num_bytes));
  if (!bundle.is_ok()) {
    flight.on_answer(failure(bundle.status().with_context(name_)));
    return;
  }
  const auto code = static_cast<RuntimeCode>(completion.head.runtime_code);
  flight.on_answer({terms::describe(code).code, std::move(*bundle),
                    static_cast<std::int64_t>(num_bytes), flight.room});
}

void Flights::expire(std::int64_t now_ns) {
  std::vector<std::function<void(Answer)>> expired;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, flight] : table_) {
      if (flight.deadline_ns > now_ns || !flight.on_answer) continue;
      // The flight keeps its memory: the worker may still write to it.
      expired.push_back(std::exchange(flight.on_answer, nullptr));
    }
  }
  for (const auto& on_answer : expired) {
    on_answer(failure(terms::runtime_error(RuntimeCode::kTimeout, "{} does not answer", name_)));
  }
}

void Flights::end(const Status& cause) {
  Table left = with_lock(mutex_, [&] {
    end_ = cause;
    return std::exchange(table_, {});
  });
  for (auto& [id, flight] : left) {
    if (flight.on_answer) flight.on_answer(failure(cause));
  }
}

}  // namespace sluice::worker
