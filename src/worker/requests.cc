#include "worker/requests.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sluice::worker {

using runtime::RuntimeCode;

namespace {

constexpr std::int64_t kSpinNs = 50'000;
constexpr std::int64_t kSleepNs = 100'000'000;
/// Requests of a model that takes longer are computed elsewhere, for those behind them.
constexpr std::int64_t kShortNs = 200'000;
// What always fits the smallest room.
constexpr std::size_t kMostErrors = 4;
constexpr std::size_t kMostErrorBytes = 1500;

// Memory of an answer is that of a request again once the daemon has read it and says so. That is
// another process, through which the thread sanitizer does not see; so it is told that an entry
// comes after the completions before it.
#if defined(__SANITIZE_THREAD__)
void hand_over(void* ring) { __tsan_release(ring); }
void take_over(void* ring) { __tsan_acquire(ring); }
#else
void hand_over(void* /*ring*/) {}
void take_over(void* /*ring*/) {}
#endif

Bundle bundle_of(const runtime::Reply& reply, bool wants_detail) {
  Bundle bundle;
  bundle.numbers = {reply.detail.queue_ns, reply.detail.copy_ns, reply.detail.compute_ns, 0};
  if (wants_detail) bundle.text = fmt::format("{}", fmt::join(reply.detail.backends, ","));
  for (const auto& entry : reply.errors.entries()) {
    if (bundle.errors.size() == kMostErrors) break;
    bundle.errors.push_back(
        {static_cast<std::int32_t>(entry.code), entry.message.substr(0, kMostErrorBytes)});
  }
  for (const auto& output : reply.outputs) bundle.tensors.push_back(output.view);
  return bundle;
}

}  // namespace

/// A request from its entry to its completion.
struct Requests::Flight {
  std::uint64_t request = 0;
  std::uint64_t model = 0;
  bool wants_detail = false;
  std::int64_t start_ns = 0;
  std::span<std::byte> room;
  std::shared_ptr<runtime::RequestSink> sink;
  std::atomic<std::uint64_t> id = 0;
  std::atomic<bool> has_id = false;
  std::atomic<bool> is_done = false;
  runtime::Reply reply;
  Bundle bundle;  ///< of the reply
};

Result<std::unique_ptr<Requests>> Requests::create(runtime::Engine& engine,
                                                   std::shared_ptr<shm::Region> memory) {
  auto ring = SLUICE_TRY(shm::RingServer::create(memory->mapped()));
  return std::unique_ptr<Requests>(new Requests(engine, std::move(memory), std::move(ring)));
}

void Requests::run() {
  shm::Submission entry;
  while (true) {
    switch (ring_.take(entry)) {
      case shm::RingServer::Take::kEntry: serve(entry); break;
      case shm::RingServer::Take::kNone: ring_.wait(kSpinNs, kSleepNs); break;
      case shm::RingServer::Take::kBad:
      case shm::RingServer::Take::kBroken: return;
    }
  }
}

void Requests::serve(const shm::Submission& entry) {
  take_over(&ring_);
  if (entry.head.num_inputs == 0 && entry.head.num_outputs == 0) return cancel(entry);
  if (entry.head.num_inputs == 0) return send_rest(entry);
  const Status status = submit(entry);
  if (status.is_ok()) return;
  auto refused = std::make_shared<Flight>();
  refused->request = entry.head.request;
  const auto room = place(entry.tensors[1]);
  if (room.is_ok()) refused->room = *room;
  answer(refused, {runtime::runtime_code_of(status), runtime::ErrorList(status), {}, {}});
}

Result<std::span<std::byte>> Requests::place(const shm::RingTensor& tensor) const {
  SLUICE_TRY(memory_->check(tensor.offset, tensor.bytes));
  return memory_->mapped().subspan(tensor.offset, tensor.bytes);
}

Status Requests::submit(const shm::Submission& entry) {
  auto flight = std::make_shared<Flight>();
  flight->request = entry.head.request;
  flight->model = entry.head.model;
  flight->room = SLUICE_TRY(place(entry.tensors[1]));
  const auto wanted = SLUICE_TRY(read_bundle(SLUICE_TRY(place(entry.tensors[0]))));
  flight->wants_detail = wanted.numbers[0] != 0;
  flight->sink = SLUICE_TRY(engine_.sink(runtime::ModelHandle(entry.head.model)));
  flight->start_ns = engine_.clock().now_ns();
  // Borrowed until the answer: the daemon gives the memory to others then.
  runtime::Request request;
  request.inputs = wanted.tensors;
  if (entry.head.timeout_ns > 0) request.deadline_ns = flight->start_ns + entry.head.timeout_ns;
  request.priority = entry.head.priority;
  request.wants_detail = true;
  request.on_done = [this, flight](runtime::Reply reply) { answer(flight, std::move(reply)); };
  const bool waits = enter(flight) && !ring_.has_submission();
  request.will_wait = waits;
  const auto id = flight->sink->submit(request);
  if (!id.is_ok()) {
    const std::lock_guard lock(mutex_);
    flights_.erase(flight->request);
    return id.status();
  }
  flight->id.store(*id);
  flight->has_id.store(true);
  if (waits) flight->sink->wait([&] { return flight->is_done.load(); }, kNoDeadline);
  return ok_status();
}

/// Whether it is alone, and of a model whose requests are short.
bool Requests::enter(const std::shared_ptr<Flight>& flight) {
  const std::lock_guard lock(mutex_);
  const bool is_alone = flights_.empty();
  flights_[flight->request] = flight;
  if (!is_alone) return false;
  const auto typical = typical_ns_.find(flight->model);
  return typical != typical_ns_.end() && typical->second < kShortNs;
}

std::shared_ptr<Requests::Flight> Requests::find(std::uint64_t request) const {
  const std::lock_guard lock(mutex_);
  const auto it = flights_.find(request);
  return it == flights_.end() ? nullptr : it->second;
}

void Requests::cancel(const shm::Submission& entry) {
  const auto flight = find(entry.head.model);
  if (flight != nullptr && flight->has_id.load()) flight->sink->cancel(flight->id.load());
  complete(entry.head.request, Code::kOk, RuntimeCode::kOk, 0);
}

/// On any thread.
void Requests::answer(const std::shared_ptr<Flight>& flight, runtime::Reply reply) {
  {
    constexpr std::size_t kMostKnownModels = 64;
    const std::lock_guard lock(mutex_);
    if (typical_ns_.size() > kMostKnownModels) typical_ns_.clear();
    typical_ns_[flight->model] = engine_.clock().now_ns() - flight->start_ns;
  }
  flight->bundle = bundle_of(reply, flight->wants_detail);
  flight->reply = std::move(reply);
  write(flight);
  flight->is_done.store(true);
}

/// Into its room, if it is large enough; else the daemon is asked for one.
void Requests::write(const std::shared_ptr<Flight>& flight) {
  const std::int64_t num_bytes = bundle_bytes(flight->bundle);
  const bool fits = num_bytes <= static_cast<std::int64_t>(flight->room.size());
  {
    const std::lock_guard lock(mutex_);
    if (fits) flights_.erase(flight->request);
    if (!fits) flights_[flight->request] = flight;
  }
  if (fits) write_bundle(flight->bundle, flight->room);
  complete(flight->request, fits ? Code::kOk : Code::kOutOfRange, flight->reply.code, num_bytes);
}

void Requests::send_rest(const shm::Submission& entry) {
  const auto flight = find(entry.head.model);
  const auto room = place(entry.tensors[0]);
  if (flight == nullptr || !room.is_ok()) {
    return complete(entry.head.request, Code::kNotFound, RuntimeCode::kFailed, 0);
  }
  flight->room = *room;
  write(flight);
}

void Requests::complete(std::uint64_t request, Code code, RuntimeCode runtime_code,
                        std::int64_t num_bytes) {
  shm::Completion completion;
  completion.head.request = request;
  completion.head.status_code = static_cast<std::int32_t>(code);
  completion.head.runtime_code = static_cast<std::int32_t>(runtime_code);
  completion.head.num_outputs = 1;
  completion.outputs[0].bytes = static_cast<std::uint64_t>(num_bytes);
  hand_over(&ring_);
  ring_.complete(completion);
}

}  // namespace sluice::worker
