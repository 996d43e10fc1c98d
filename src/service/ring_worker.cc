#include "service/ring_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::service {

using runtime::RuntimeCode;

namespace {

/// A client that asks again soon finds the thread awake.
constexpr std::int64_t kSpinNs = 50'000;
/// Every sleep ends by itself: whoever shares the memory can put a sleeper where no bell reaches.
constexpr std::int64_t kSleepNs = 100'000'000;
/// An entry may wait so long for one of another group that is computed before it.
constexpr std::int64_t kShortNs = 200'000;
/// Requests of a model that takes longer than that are computed here where entries come one by one,
/// up to this; for some time after one came behind another they are computed elsewhere.
constexpr std::int64_t kLongNs = 1'000'000;
constexpr int kElsewhereNext = 64;
constexpr std::size_t kMostKnownModels = 64;

}  // namespace

/// A request from its entry to its completion.
struct RingWorker::Flight {
  std::uint64_t number = 0;
  std::uint64_t request = 0;  ///< the client's id
  std::uint64_t model = 0;
  std::int64_t start_ns = 0;
  std::shared_ptr<runtime::RequestSink> sink;
  RingRequest tensors;
  std::atomic<std::uint64_t> id = 0;
  std::atomic<bool> has_id = false;
  std::atomic<bool> is_done = false;
};

std::shared_ptr<RingWorker> RingWorker::start(Service& service, const Caller& caller,
                                              std::shared_ptr<shm::Region> region,
                                              shm::RingServer ring) {
  auto shared = std::make_shared<Shared>(std::move(region), std::move(ring));
  std::shared_ptr<RingWorker> worker(new RingWorker(service, caller, std::move(shared)));
  worker->thread_ = std::thread([raw = worker.get()] { raw->loop(); });
  return worker;
}

RingWorker::~RingWorker() { stop(); }

void RingWorker::stop() {
  const std::lock_guard lock(stop_mutex_);
  is_stopping_.store(true);
  // Again and again: it may be about to sleep, or about to submit.
  while (thread_.joinable() && !has_ended_.load()) {
    cancel_all();
    shared_->ring.wake();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (thread_.joinable()) thread_.join();
  cancel_all();
  shared_->ring.close();
}

void RingWorker::cancel_all() {
  std::vector<std::shared_ptr<Flight>> flights;
  {
    const std::lock_guard lock(shared_->mutex);
    for (const auto& [number, flight] : shared_->flights) flights.push_back(flight);
  }
  for (const auto& flight : flights) {
    if (flight->has_id.load()) flight->sink->cancel(flight->id.load());
  }
}

void RingWorker::loop() {
  shm::Submission entry;
  while (!is_stopping_.load()) {
    switch (shared_->ring.take(entry)) {
      case shm::RingServer::Take::kEntry: serve(entry); break;
      case shm::RingServer::Take::kBad: {
        shm::Completion completion;
        completion.head.request = entry.head.request;
        write_completion(
            runtime_error(RuntimeCode::kBadInput, "an entry of a ring has at most {} tensors",
                          shm::kMostRingTensors),
            completion);
        shared_->ring.complete(completion);
        break;
      }
      case shm::RingServer::Take::kNone: shared_->ring.wait(kSpinNs, kSleepNs); break;
      case shm::RingServer::Take::kBroken:
        service_.log().add(LogLevel::kWarning, "ring.broken session={}",
                           static_cast<std::uint64_t>(caller_.session->id()));
        shared_->ring.close();
        is_stopping_.store(true);
        break;
    }
  }
  has_ended_.store(true);
}

void RingWorker::serve(const shm::Submission& entry) {
  const Status status = submit(entry);
  if (status.is_ok()) return;
  shm::Completion completion;
  completion.head.request = entry.head.request;
  write_completion(status, completion);
  shared_->ring.complete(completion);
}

Status RingWorker::submit(const shm::Submission& entry) {
  const auto model = runtime::ModelHandle(entry.head.model);
  auto flight = std::make_shared<Flight>();
  flight->sink = SLUICE_TRY(service_.find_model(caller_, model));
  const auto in_place = service_.in_place_inputs(model);
  flight->tensors = SLUICE_TRY(
      read_ring_request(entry, flight->sink->signature(), *caller_.session, in_place.get()));
  flight->request = entry.head.request;
  flight->model = entry.head.model;
  flight->start_ns = flight->sink->clock().now_ns();
  runtime::Request request;
  request.inputs = std::move(flight->tensors.inputs);
  request.memory_owner = flight;
  if (entry.head.timeout_ns > 0 && entry.head.timeout_ns < kNoDeadline - flight->start_ns) {
    request.deadline_ns = flight->start_ns + entry.head.timeout_ns;
  }
  request.priority = entry.head.priority;
  request.on_done = [shared = shared_, flight](const runtime::Reply& reply) {
    answer(*shared, *flight, reply);
  };
  request.will_wait =
      enter(flight) && !shared_->ring.has_submission() && !service_.runs_elsewhere(model);
  const bool waits = request.will_wait;
  const auto id = service_.submit(caller_, *flight->sink, request);
  if (!id.is_ok()) {
    const std::lock_guard lock(shared_->mutex);
    shared_->flights.erase(flight->number);
    return id.status();
  }
  flight->id.store(*id);
  flight->has_id.store(true);
  if (!waits) return ok_status();
  flight->sink->wait([&] { return flight->is_done.load(); }, kNoDeadline);
  if (shared_->ring.has_submission()) elsewhere_next_ = kElsewhereNext;
  return ok_status();
}

/// Whether this thread computes it: where it is alone and of a model whose requests are short.
bool RingWorker::enter(const std::shared_ptr<Flight>& flight) {
  const std::lock_guard lock(shared_->mutex);
  const bool is_alone = shared_->flights.empty();
  flight->number = shared_->next_flight++;
  shared_->flights[flight->number] = flight;
  if (!is_alone) return false;
  const auto typical = shared_->typical_ns.find(flight->model);
  if (typical == shared_->typical_ns.end()) return false;
  if (typical->second < kShortNs) return true;
  if (elsewhere_next_ > 0) {
    --elsewhere_next_;
    return false;
  }
  return typical->second < kLongNs;
}

/// On any thread; the worker may be gone.
void RingWorker::answer(Shared& shared, Flight& flight, const runtime::Reply& reply) {
  shm::Completion completion;
  completion.head.request = flight.request;
  write_completion(reply, flight.tensors, flight.sink->signature(), completion);
  {
    const std::lock_guard lock(shared.mutex);
    shared.flights.erase(flight.number);
    if (shared.typical_ns.size() > kMostKnownModels) shared.typical_ns.clear();
    shared.typical_ns[flight.model] = flight.sink->clock().now_ns() - flight.start_ns;
  }
  shared.ring.complete(completion);
  flight.is_done.store(true);
}

}  // namespace sluice::service
