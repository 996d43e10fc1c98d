// A model's requests reach it in the order in which they were sent: while the stream has some of
// them, the next ones take the stream too, and before one leaves the ring for the stream, the
// daemon has passed on all that are in the ring.
//
// Lock order: `stream_mutex_`, then `mutex_`. Neither is held while a request is sent or answered.
#include "client/requests.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"
#include "terms/runtime_code.h"

namespace sluice::client {

using rpc::client::InferReply;
using rpc::client::InferStream;
using rpc::client::RingStream;

namespace {

/// As of the ring: the daemon's own answer comes first unless the daemon hangs.
constexpr std::chrono::milliseconds kGrace{500};
/// A century: longer limits are none, and sums with them do not overflow.
constexpr std::int64_t kMaxTimeoutNs = std::int64_t{100} * 365 * 86'400 * 1'000'000'000;

Status over() { return make_error(Code::kUnavailable, "the daemon has ended the connection"); }

}  // namespace

Requests::Requests(std::unique_ptr<RingStream> ring, OpenStream open_stream, std::int64_t limit)
    : open_stream_(std::move(open_stream)),
      limit_(static_cast<std::size_t>(std::max<std::int64_t>(limit, 1))),
      ring_(std::move(ring)) {
  if (ring_ == nullptr) return;
  auto reader = start_thread([this] { read(kRing, *ring_); });
  if (reader.is_ok()) {
    readers_[kRing] = std::move(*reader);
  } else {
    ring_ = nullptr;  // requests take the stream
  }
}

Result<std::uint64_t> Requests::send(std::uint64_t model,
                                     const std::vector<terms::NamedTensor>& inputs,
                                     const rpc::client::InferOptions& options, OnAnswer on_answer) {
  const std::uint64_t id = SLUICE_TRY(enter(model, options.timeout_ns, std::move(on_answer)));
  if (may_use_ring(model)) {
    if (ring_->try_send(id, model, inputs, options)) return id;
  }
  const std::optional<bool> is_behind_ring = move_to_stream(id);
  if (!is_behind_ring) return id;
  if (*is_behind_ring) ring_->wait_until_passed_on();
  auto opened = stream();
  const Status status =
      opened.is_ok() ? (*opened)->send(id, model, inputs, options) : opened.status();
  if (status.is_ok()) return id;
  // If the stream has ended meanwhile, its reader may have answered: then this did not fail.
  if (take(id) == nullptr) return id;
  return status;
}

/// Puts the request into the table.
Result<std::uint64_t> Requests::enter(std::uint64_t model, std::int64_t timeout_ns,
                                      OnAnswer on_answer) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return over();
  // A sender that the daemon does not read from may be the reader, in an OnAnswer.
  if (in_flight_.size() >= limit_) {
    return terms::runtime_error(RuntimeCode::kQueueFull,
                                "{} requests of this client are in flight, which is the "
                                "daemon's limit: wait for a reply",
                                limit_);
  }
  InFlight request = {std::move(on_answer), model};
  request.way = ring_ != nullptr ? kRing : kStream;
  if (timeout_ns > 0 && timeout_ns < kMaxTimeoutNs) {
    request.end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns) + kGrace;
    if (!time_keeper_.joinable()) {
      time_keeper_ = SLUICE_TRY(start_thread([this] { keep_time(); }));
    }
    has_news_.notify_all();
  }
  const std::uint64_t id = next_id_++;
  ++models_[model][request.way];
  in_flight_.emplace(id, std::move(request));
  return id;
}

bool Requests::may_use_ring(std::uint64_t model) {
  if (ring_ == nullptr) return false;
  const std::lock_guard lock(mutex_);
  return models_[model][kStream] == 0;
}

/// Whether the ring has other requests of the model. Nullopt if the ring's end has answered this
/// one.
std::optional<bool> Requests::move_to_stream(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = in_flight_.find(id);
  if (it == in_flight_.end()) return std::nullopt;
  Counts& counts = models_[it->second.model];
  --counts[std::exchange(it->second.way, kStream)];
  ++counts[kStream];
  return counts[kRing] > 0;
}

Result<InferStream*> Requests::stream() {
  const std::lock_guard lock(stream_mutex_);
  if (stream_ != nullptr) return stream_.get();
  if (is_closed_) return over();
  auto opened = SLUICE_TRY(open_stream_());
  readers_[kStream] =
      SLUICE_TRY(start_thread([this, stream = opened.get()] { read(kStream, *stream); }));
  stream_ = std::move(opened);
  return stream_.get();
}

void Requests::cancel(std::uint64_t id) {
  Way way = kRing;
  {
    const std::lock_guard lock(mutex_);
    const auto it = in_flight_.find(id);
    if (it == in_flight_.end()) return;
    way = it->second.way;
  }
  InferStream* stream = ring_.get();
  if (way == kStream) {
    const std::lock_guard lock(stream_mutex_);
    stream = stream_.get();
  }
  if (stream == nullptr) return;
  (void)stream->cancel(id);  // the stream is over: the request has its answer
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
  with_lock(stream_mutex_, [&] { is_closed_ = true; });
  std::vector<InferStream*> ways;
  if (ring_ != nullptr) ways.push_back(ring_.get());
  if (stream_ != nullptr) ways.push_back(stream_.get());
  for (InferStream* way : ways) way->close();
  {
    std::unique_lock lock(mutex_);
    answered_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(drain_ns, 0)),
                       [this] { return in_flight_.empty(); });
  }
  for (InferStream* way : ways) way->abort();
  for (std::thread& reader : readers_) {
    if (reader.joinable()) reader.join();
  }
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    has_news_.notify_all();
  }
  // Not started any more: `enter` refuses now.
  if (time_keeper_.joinable()) time_keeper_.join();
}

/// Takes a request out of the table. Requires: `mutex_` is held.
Requests::Table::iterator Requests::erase(Table::iterator it) {
  const auto counts = models_.find(it->second.model);
  if (--counts->second[it->second.way] == 0 && counts->second == Counts{}) models_.erase(counts);
  it = in_flight_.erase(it);
  if (is_over_ && in_flight_.empty()) has_news_.notify_all();
  return it;
}

OnAnswer Requests::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = in_flight_.find(id);
  if (it == in_flight_.end()) return nullptr;
  OnAnswer on_answer = std::move(it->second.on_answer);
  erase(it);
  return on_answer;
}

void Requests::answer(std::uint64_t id, Result<InferReply> reply) {
  if (const OnAnswer on_answer = take(id)) on_answer(std::move(reply));
  // Under the lock: a waiter has either seen the answer or waits for this.
  const std::lock_guard lock(mutex_);
  answered_.notify_all();
}

void Requests::read(Way way, InferStream& stream) {
  Status why = ok_status();
  for (;;) {
    auto next = stream.next();
    if (!next.is_ok()) why = next.status();
    if (!next.is_ok() || !next->has_value()) break;
    answer((*next)->id, std::move((*next)->reply));
  }
  if (why.is_ok() || why.code() == Code::kCancelled) {
    why = terms::runtime_error(RuntimeCode::kCancelled, "the runtime was closed");
  }
  end(way, why);
}

/// Answers what is left on its way.
void Requests::end(Way way, const Status& why) {
  std::vector<OnAnswer> rest;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (auto it = in_flight_.begin(); it != in_flight_.end();) {
      if (it->second.way == way) {
        rest.push_back(std::move(it->second.on_answer));
        it = erase(it);
      } else {
        ++it;
      }
    }
    has_news_.notify_all();  // of `is_over_`
  }
  for (const OnAnswer& on_answer : rest) {
    if (on_answer) on_answer(why);
  }
  const std::lock_guard lock(mutex_);
  answered_.notify_all();
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
  const Status status = terms::runtime_error(
      RuntimeCode::kTimeout, "the daemon did not answer within the request's time limit");
  std::unique_lock lock(mutex_);
  while (!is_over_ || !in_flight_.empty()) {
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
