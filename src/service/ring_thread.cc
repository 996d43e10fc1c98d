#include "service/ring_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/no_memory.h"
#include "base/process/start_thread.h"
#include "service/clients/peer.h"

namespace sluice::service {

using dispatch::FlightTable;

namespace {

/// A client that asks again within this time finds the thread awake.
constexpr std::int64_t kSpinNs = 50'000;
/// Every sleep ends by itself: a client can overwrite the word that a wake-up needs.
constexpr std::int64_t kSleepNs = 100'000'000;
/// A ring's thread delays only its own client, so it may compute longer requests than a thread of
/// gRPC's. Above 1 ms the wake-up that this saves is lost in the noise.
constexpr std::int64_t kMaxComputeNs = 1'000'000;
/// With so many requests in flight others compute long enough that the thread naps: a client need
/// not wake it for each submission, and it does not look for work on a processor that they need.
constexpr std::size_t kManyFlights = 8;
/// The shortest requests take about as long, so that a nap ends before the work does.
constexpr std::chrono::microseconds kNapPerFlight(4);
constexpr std::chrono::microseconds kLongestNap(250);

telemetry::Origin origin_of(const shm::SubmissionHead& head) {
  telemetry::Origin origin = {.door = "ring"};
  terms::TraceContext caller = {head.trace_id, head.span_id, (head.trace_flags & 1) != 0};
  if (caller.trace != terms::TraceId{} && caller.span != terms::SpanId{}) origin.caller = caller;
  return origin;
}

}  // namespace

/// The ring and its requests in flight. Shared with the requests, which a device may keep busy with
/// after the thread has ended.
struct RingThread::Ring {
  Ring(std::shared_ptr<shm::Region> memory, shm::RingServer ring)
      : region(std::move(memory)), server(std::move(ring)) {}

  void complete(std::uint64_t request, const runtime::Reply& reply, const Entry& entry);
  void refuse(std::uint64_t request, const Status& status);

  const std::shared_ptr<shm::Region> region;
  shm::RingServer server;
  FlightTable flights{kMaxComputeNs};
};

/// What a request keeps until its model lets go of its memory.
struct RingThread::Entry {
  std::shared_ptr<dispatch::ModelRef> model;
  PlacedTensors placed;
};

void RingThread::Ring::complete(std::uint64_t request, const runtime::Reply& reply,
                                const Entry& entry) {
  shm::Completion completion;
  completion.head.request = request;
  write_completion(reply, entry.placed, entry.model->signature(), completion);
  server.complete(completion);
}

void RingThread::Ring::refuse(std::uint64_t request, const Status& status) {
  shm::Completion completion;
  completion.head.request = request;
  write_completion(status, completion);
  server.complete(completion);
}

RingThread::RingThread(Service& service, Caller caller, std::shared_ptr<Ring> ring)
    : service_(service), caller_(std::move(caller)), ring_(std::move(ring)) {}

Result<std::shared_ptr<RingThread>> RingThread::start(Service& service, const Caller& caller,
                                                      std::shared_ptr<shm::Region> region,
                                                      shm::RingServer ring) {
  auto shared = std::make_shared<Ring>(std::move(region), std::move(ring));
  std::shared_ptr<RingThread> made(new RingThread(service, caller, std::move(shared)));
  made->thread_ = SLUICE_TRY(start_thread([raw = made.get()] { raw->loop(); }));
  return made;
}

RingThread::~RingThread() { stop(); }

void RingThread::stop() {
  const std::lock_guard lock(stop_mutex_);
  is_stopping_.store(true);
  // Repeated, because the thread may be about to sleep or about to submit another request.
  while (thread_.joinable() && !has_ended_.load()) {
    ring_->flights.cancel_all();
    ring_->server.wake();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (thread_.joinable()) thread_.join();
  ring_->flights.cancel_all();
  ring_->server.close();
}

void RingThread::loop() {
  shm::Submission submission;
  while (!is_stopping_.load()) {
    switch (ring_->server.take(submission)) {
      case shm::RingServer::Take::kEntry: serve(submission); break;
      case shm::RingServer::Take::kBad:
        ring_->refuse(submission.head.request,
                      terms::runtime_error(RuntimeCode::kBadInput,
                                           "an entry of a ring has at most {} tensors",
                                           shm::kMaxRingTensors));
        break;
      case shm::RingServer::Take::kNone: rest(); break;
      case shm::RingServer::Take::kBroken:
        service_.log().add(LogLevel::kWarning, "ring.broken session={}",
                           static_cast<std::uint64_t>(caller_.session->id()));
        ring_->server.close();
        is_stopping_.store(true);
        break;
    }
  }
  has_ended_.store(true);
}

void RingThread::rest() {
  const std::size_t num_flights = ring_->flights.size();
  if (num_flights < kManyFlights) return ring_->server.wait(kSpinNs, kSleepNs);
  std::this_thread::sleep_for(
      std::min<std::chrono::nanoseconds>(num_flights * kNapPerFlight, kLongestNap));
}

void RingThread::serve(const shm::Submission& submission) {
  Status status = ok_status();
  switch (submission.head.kind) {
    case shm::SubmissionKind::kRequest: {
      const auto observation = service_.telemetry().begin(origin_of(submission.head));
      status = catch_no_memory([&] { return submit(submission, observation); });
      if (!status.is_ok()) telemetry::failed(observation, status);
      break;
    }
    case shm::SubmissionKind::kCancel: return cancel(submission);
    default:
      status = terms::runtime_error(RuntimeCode::kInvalid, "{} is no kind of submission",
                                    static_cast<std::uint16_t>(submission.head.kind));
  }
  if (status.is_ok()) return;
  // A session that closes takes its models and regions along before its ring. Whatever an entry
  // then misses, it was cancelled.
  const Status open = caller_.session->check_open();
  ring_->refuse(submission.head.request, open.is_ok() ? status : open);
}

void RingThread::cancel(const shm::Submission& submission) {
  ring_->flights.cancel(submission.head.model);
  shm::Completion completion;
  completion.head.request = submission.head.request;
  ring_->server.complete(completion);
}

Status RingThread::submit(const shm::Submission& submission,
                          const std::shared_ptr<telemetry::Observation>& observation) {
  if (observation != nullptr) observation->set_user(account_of(caller_.peer));
  const shm::SubmissionHead& head = submission.head;
  const auto entry = std::make_shared<Entry>();
  entry->model = SLUICE_TRY(service_.find_model(caller_, terms::ModelHandle(head.model)));
  runtime::Request request;
  request.inputs =
      SLUICE_TRY(read_ring_request(submission, *entry->model, *caller_.session, entry->placed));
  request.memory_owner = entry;
  const std::int64_t now_ns = entry->model->clock().now_ns();
  if (head.timeout_ns > 0 && head.timeout_ns < kNoDeadline - now_ns) {
    request.deadline_ns = now_ns + head.timeout_ns;
  }
  request.priority = head.priority;
  request.exchange_owner = static_cast<std::uint64_t>(caller_.session->owner());
  const bool is_last = !ring_->server.has_submission();
  const auto flight = ring_->flights.enter(head.request, entry->model, is_last, observation);
  if (flight == nullptr) {
    return terms::runtime_error(
        RuntimeCode::kInvalid,
        "request {}: another one with this id is in flight; give each its own", head.request);
  }
  caller_.session->count_ring_request();
  const dispatch::RequestLimits limits = service_.limits_of(caller_);
  if (!flight->is_for_this_thread()) {
    request.on_done = [ring = ring_, id = head.request, entry](const runtime::Reply& reply) {
      ring->complete(id, reply, *entry);
    };
    return ring_->flights.post(flight, request, limits);
  }
  const auto reply = SLUICE_TRY(ring_->flights.compute(flight, request, limits));
  ring_->complete(head.request, reply, *entry);
  if (ring_->server.has_submission()) ring_->flights.note_backlog();
  return ok_status();
}

}  // namespace sluice::service
