#include "client/requests.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::client {

using rpc::client::InferReply;

namespace {

/// As of the ring: the daemon's own answer comes first unless the daemon hangs.
constexpr std::chrono::milliseconds kGrace{500};
/// A century: longer limits are none, and sums with them do not overflow.
constexpr std::int64_t kMaxTimeoutNs = std::int64_t{100} * 365 * 86'400 * 1'000'000'000;

}  // namespace

Requests::Requests(std::unique_ptr<rpc::client::InferStream> stream, std::int64_t limit)
    : stream_(std::move(stream)),
      limit_(static_cast<std::size_t>(std::max<std::int64_t>(limit, 1))),
      reader_([this] { read(); }) {}

Result<std::uint64_t> Requests::send(std::uint64_t model,
                                     const std::vector<rpc::client::NamedTensor>& inputs,
                                     const rpc::client::InferOptions& options, OnAnswer on_answer) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) return make_error(Code::kUnavailable, "the daemon has ended the connection");
    // A sender that the daemon does not read from may be the reader, in an OnAnswer.
    if (in_flight_.size() >= limit_) {
      return runtime::runtime_error(runtime::RuntimeCode::kQueueFull,
                                    "{} requests of this client are in flight, which is the "
                                    "daemon's limit: wait for a reply",
                                    limit_);
    }
    id = next_id_++;
    InFlight request = {std::move(on_answer)};
    if (options.timeout_ns > 0 && options.timeout_ns < kMaxTimeoutNs) {
      request.end =
          std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.timeout_ns) + kGrace;
      if (!time_keeper_.joinable()) time_keeper_ = std::thread([this] { keep_time(); });
      has_news_.notify_all();
    }
    in_flight_.emplace(id, std::move(request));
  }
  // Without the lock, which the reader needs.
  const Status status = stream_->send(id, model, inputs, options);
  if (status.is_ok()) return id;
  // If the stream has ended meanwhile, the reader may have answered: then this did not fail.
  if (take(id) == nullptr) return id;
  return status;
}

void Requests::cancel(std::uint64_t id) {
  const Status status = stream_->cancel(id);
  (void)status;  // the stream is over: the request has its answer
}

void Requests::wait(const std::function<bool()>& is_done, std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  if (timeout_ns < 0) {
    answered_.wait(lock, is_done);
  } else {
    answered_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_done);
  }
}

bool Requests::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

void Requests::close(std::int64_t drain_ns) {
  stream_->close();
  {
    std::unique_lock lock(mutex_);
    answered_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(drain_ns, 0)),
                       [this] { return is_over_ || in_flight_.empty(); });
  }
  stream_->abort();
  reader_.join();
  // Not started any more: `send` refuses once the reader has set `is_over_`.
  if (time_keeper_.joinable()) time_keeper_.join();
}

OnAnswer Requests::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = in_flight_.find(id);
  if (it == in_flight_.end()) return nullptr;
  OnAnswer on_answer = std::move(it->second.on_answer);
  in_flight_.erase(it);
  return on_answer;
}

void Requests::answer(std::uint64_t id, Result<InferReply> reply) {
  if (const OnAnswer on_answer = take(id)) on_answer(std::move(reply));
  // Under the lock: a waiter has either seen the answer or waits for this.
  const std::lock_guard lock(mutex_);
  answered_.notify_all();
}

void Requests::read() {
  Status end = ok_status();
  for (;;) {
    auto next = stream_->next();
    if (!next.is_ok()) end = next.status();
    if (!next.is_ok() || !next->has_value()) break;
    answer((*next)->id, std::move((*next)->reply));
  }
  if (end.is_ok() || end.code() == Code::kCancelled) {
    end = runtime::runtime_error(runtime::RuntimeCode::kCancelled, "the runtime was closed");
  }
  std::unordered_map<std::uint64_t, InFlight> rest;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    rest.swap(in_flight_);
    has_news_.notify_all();
  }
  for (const auto& [id, request] : rest) {
    if (request.on_answer) request.on_answer(end);
  }
  const std::lock_guard lock(mutex_);
  answered_.notify_all();
  has_news_.notify_all();
}

std::vector<OnAnswer> Requests::take_late(TimePoint now) {
  std::vector<OnAnswer> late;
  for (auto& [id, request] : in_flight_) {
    if (request.end > now) continue;
    request.end = TimePoint::max();
    if (request.on_answer) late.push_back(std::exchange(request.on_answer, nullptr));
  }
  return late;
}

void Requests::keep_time() {
  const Status status = runtime::runtime_error(
      runtime::RuntimeCode::kTimeout, "the daemon did not answer within the request's time limit");
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    TimePoint next = TimePoint::max();
    for (const auto& [id, request] : in_flight_) next = std::min(next, request.end);
    if (next == TimePoint::max()) {
      has_news_.wait(lock);
    } else {
      has_news_.wait_until(lock, next);
    }
    const auto late = take_late(std::chrono::steady_clock::now());
    if (late.empty()) continue;
    lock.unlock();
    for (const OnAnswer& on_answer : late) on_answer(status);
    lock.lock();
    answered_.notify_all();
  }
}

}  // namespace sluice::client
