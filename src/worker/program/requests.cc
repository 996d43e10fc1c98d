#include "worker/program/requests.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/process/with_lock.h"
#include "worker/protocol/answer_room.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sluice::worker {

namespace {

constexpr std::int64_t kSpinNs = 50'000;
constexpr std::int64_t kSleepNs = 100'000'000;
/// References that are kept between requests. Those of unloaded models go when it is exceeded.
constexpr std::size_t kMaxModels = 64;
// A bundle with at most this many errors of this length fits Flights' smallest room, 8 KiB.
constexpr std::size_t kMaxErrors = 4;
constexpr std::size_t kMaxErrorBytes = 1500;

// The daemon reuses the memory of an answer for a request after it has read the answer. The thread
// sanitizer does not see the daemon's process, so these two functions tell it that an entry comes
// after the completions before it.
#if defined(__SANITIZE_THREAD__)
void hand_over(void* ring) { __tsan_release(ring); }
void take_over(void* ring) { __tsan_acquire(ring); }
#else
void hand_over(void* /*ring*/) {}
void take_over(void* /*ring*/) {}
#endif

Bundle bundle_of(const runtime::Reply& reply, bool wants_detail) {
  Bundle bundle;
  const terms::ReplyDetail& detail = reply.detail;
  bundle.numbers = {detail.queue_ns,       detail.copy_ns,           detail.compute_ns,
                    detail.recorded_bytes, detail.is_joined ? 1 : 0, detail.copy_out_ns,
                    detail.counted_rows,   detail.num_ahead};
  if (wants_detail) bundle.text = fmt::format("{}", fmt::join(detail.backends, ","));
  for (const auto& entry : reply.errors.entries()) {
    if (bundle.errors.size() == kMaxErrors) break;
    bundle.errors.push_back(
        {static_cast<std::int32_t>(entry.code), entry.message.substr(0, kMaxErrorBytes)});
  }
  for (const auto& output : reply.outputs) bundle.tensors.push_back(output.view);
  return bundle;
}

}  // namespace

/// A reply on its way to the daemon.
struct Requests::Answer {
  std::uint64_t request = 0;
  std::uint64_t model = 0;
  bool wants_detail = false;
  std::span<std::byte> room;  ///< the daemon's, for the bundle
  runtime::Reply reply;
  Bundle bundle;  ///< of the reply

  void set(runtime::Reply from) {
    bundle = bundle_of(from, wants_detail);
    reply = std::move(from);
  }
};

Result<std::unique_ptr<Requests>> Requests::create(runtime::ModelHost& models,
                                                   std::shared_ptr<shm::Region> memory,
                                                   OnDeviceError on_device_error) {
  auto ring = SLUICE_TRY(shm::RingServer::create(memory->mapped()));
  return std::unique_ptr<Requests>(
      new Requests(models, std::move(memory), std::move(ring), std::move(on_device_error)));
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
  const auto refusal = std::make_shared<Answer>();
  refusal->request = entry.head.request;
  const auto room = place(entry.tensors[1]);
  if (room.is_ok()) refusal->room = *room;
  refusal->set(runtime::failed_reply(status));
  send(refusal);
}

Result<std::span<std::byte>> Requests::place(const shm::RingTensor& tensor) const {
  SLUICE_TRY(memory_->check(tensor.offset, tensor.bytes));
  return memory_->mapped().subspan(tensor.offset, tensor.bytes);
}

/// Kept, so that a model's latency is known from one request to the next. Handles are never given
/// twice; the sink of an unloaded model refuses.
Result<std::shared_ptr<dispatch::ModelRef>> Requests::find_model(std::uint64_t handle) {
  const auto it = models_.find(handle);
  if (it != models_.end()) return it->second;
  auto sink = SLUICE_TRY(host_.sink(terms::ModelHandle(handle)));
  if (models_.size() >= kMaxModels) models_.clear();
  const auto model =
      std::make_shared<dispatch::ModelRef>(std::move(sink), std::vector<bool>{}, false);
  models_[handle] = model;
  return model;
}

Status Requests::submit(const shm::Submission& entry) {
  const auto answer = std::make_shared<Answer>();
  answer->request = entry.head.request;
  answer->model = entry.head.model;
  answer->room = SLUICE_TRY(place(entry.tensors[1]));
  const auto wanted = SLUICE_TRY(read_bundle(SLUICE_TRY(place(entry.tensors[0]))));
  answer->wants_detail = wanted.numbers[0] != 0;
  const auto model = SLUICE_TRY(find_model(entry.head.model));
  // Borrowed until the reply; afterwards the daemon reuses the memory.
  runtime::Request request;
  request.inputs = wanted.tensors;
  request.outputs = outputs_in(answer->room, model->signature());
  if (entry.head.timeout_ns > 0) {
    request.deadline_ns = model->clock().now_ns() + entry.head.timeout_ns;
  }
  const dispatch::RequestLimits limits = {nullptr, wanted.numbers[1]};
  request.priority = entry.head.priority;
  request.wants_detail = true;
  const auto flight = flights_.enter(answer->request, model, !ring_.has_submission());
  if (flight == nullptr) {
    return terms::runtime_error(RuntimeCode::kInvalid, "request {} is in flight already",
                                answer->request);
  }
  if (!flight->is_for_this_thread()) {
    request.on_done = [this, answer](runtime::Reply reply) {
      answer->set(std::move(reply));
      send(answer);
    };
    return flights_.post(flight, request, limits);
  }
  answer->set(SLUICE_TRY(flights_.compute(flight, request, limits)));
  send(answer);
  return ok_status();
}

void Requests::cancel(const shm::Submission& entry) {
  flights_.cancel(entry.head.model);
  complete(entry.head.request, Code::kOk, RuntimeCode::kOk, 0);
}

/// Into its room, if that is large enough; else the daemon is asked for more.
void Requests::send(const std::shared_ptr<Answer>& answer) {
  if (answer->reply.code == RuntimeCode::kDeviceError) {
    on_device_error_(answer->model, answer->reply.errors.to_status().message());
  }
  const std::int64_t num_bytes = bundle_bytes(answer->bundle, answer->room);
  if (num_bytes <= static_cast<std::int64_t>(answer->room.size())) {
    write_bundle(answer->bundle, answer->room);
    return complete(answer->request, Code::kOk, answer->reply.code, num_bytes);
  }
  with_lock(mutex_, [&] { too_long_[answer->request] = answer; });
  complete(answer->request, Code::kOutOfRange, answer->reply.code, num_bytes);
}

void Requests::send_rest(const shm::Submission& entry) {
  std::shared_ptr<Answer> answer;
  {
    const std::lock_guard lock(mutex_);
    const auto node = too_long_.extract(entry.head.model);
    if (!node.empty()) answer = node.mapped();
  }
  const auto room = place(entry.tensors[0]);
  if (answer == nullptr || !room.is_ok()) {
    return complete(entry.head.request, Code::kNotFound, RuntimeCode::kFailed, 0);
  }
  answer->room = *room;
  send(answer);
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
