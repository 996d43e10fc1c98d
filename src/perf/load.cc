// The two kinds of load. A load's thread and the threads of answers share `mutex_` of their object;
// no lock is held while a request is sent or an answer is passed on.
#include "perf/load.h"

#include <optional>
#include <thread>
#include <utility>

#include "base/process/with_lock.h"
#include "perf/arrival_times.h"

namespace sluice::perf {
namespace {

/// A server that refuses is asked again this often, by each of the requests of a closed loop.
constexpr std::int64_t kPauseNs = 1'000'000;

/// A request follows an answer on the thread that brought it. After a failure the load's thread
/// sends it, with a pause: a target that fails within `send` would call itself for ever.
class ClosedLoop final : public Load {
 public:
  ClosedLoop(Target& target, int concurrency, Clock& clock)
      : Load(target, clock), num_parked_(concurrency), thread_([this] { run(); }) {}
  ~ClosedLoop() override {
    is_over_ = true;
    with_lock(mutex_, [&] { changed_.notify_all(); });
    thread_.join();
    wait_for_answers();
  }

 private:
  void answered(bool is_ok) override {
    if (is_over_) return;
    if (is_ok) {
      send(clock_.now_ns());
      return;
    }
    const std::lock_guard lock(mutex_);
    ++num_parked_;
    changed_.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      for (int left = std::exchange(num_parked_, 0); left > 0; --left) {
        lock.unlock();
        send(clock_.now_ns());
        lock.lock();
      }
      changed_.wait(lock, [this] { return is_over_ || num_parked_ > 0; });
      const std::int64_t until_ns = clock_.now_ns() + kPauseNs;
      while (!is_over_ && clock_.now_ns() < until_ns) clock_.wait_until(lock, changed_, until_ns);
    }
  }

  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_parked_;
  std::thread thread_;  ///< last: it uses all of the above
};

class OpenLoop final : public Load {
 public:
  OpenLoop(Target& target, const LoadForm& form, Clock& clock)
      : Load(target, clock), form_(form), times_(times_of(form)), thread_([this] { run(); }) {}
  ~OpenLoop() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      changed_.notify_all();
    }
    thread_.join();
    wait_for_answers();
  }

 private:
  void answered(bool /*is_ok*/) override {}

  static std::optional<ArrivalTimes> times_of(const LoadForm& form) {
    if (form.arrivals_ns != nullptr) return std::nullopt;
    return ArrivalTimes(form.per_second, form.is_poisson, form.seed);
  }

  /// When request `number` is due, since the start; nullopt behind the end of a replay.
  std::optional<std::int64_t> due_ns_of(std::size_t number) {
    if (times_) return times_->next_ns();
    if (number == form_.arrivals_ns->size()) return std::nullopt;
    return (*form_.arrivals_ns)[number];
  }

  void run() {
    const std::int64_t start_ns = clock_.now_ns();
    std::size_t number = 0;
    auto due = due_ns_of(number);
    std::unique_lock lock(mutex_);
    while (!is_over_ && due) {
      const std::int64_t due_ns = start_ns + *due;
      if (clock_.now_ns() < due_ns) {
        clock_.wait_until(lock, changed_, due_ns);
        continue;
      }
      lock.unlock();
      if (num_in_flight() < form_.max_in_flight) {
        send(due_ns, number % form_.num_requests);
      } else {
        count_unsent();
      }
      lock.lock();
      due = due_ns_of(++number);
    }
    if (!due) set_sent_all();
  }

  const LoadForm form_;
  std::optional<ArrivalTimes> times_;  ///< the thread's; none: a replay
  bool is_over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace

Load::Load(Target& target, Clock& clock)
    : target_(target),
      clock_(clock),
      window_began_ns_(clock.now_ns()),
      times_(ThreadTimes::now()) {}

std::unique_ptr<Load> Load::start(Target& target, const LoadForm& form, Clock& clock) {
  if (form.is_open()) return std::make_unique<OpenLoop>(target, form, clock);
  return std::make_unique<ClosedLoop>(target, form.concurrency, clock);
}

void Load::send(std::int64_t due_ns, std::size_t request) {
  ++in_flight_;
  const std::int64_t sent_ns = clock_.now_ns();
  target_.send(request, [this, due_ns, sent_ns](const Status& status) {
    record(due_ns, sent_ns, status);
    answered(status.is_ok());
    // Under the lock: once `wait_for_answers` sees none in flight, the load may be destroyed.
    const std::lock_guard lock(mutex_);
    if (--in_flight_ == 0) idle_.notify_all();
  });
}

void Load::count_unsent() {
  const std::lock_guard lock(mutex_);
  ++window_.num_unsent;
}

void Load::record(std::int64_t due_ns, std::int64_t sent_ns, const Status& status) {
  const std::int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  if (status.is_ok()) {
    window_.latencies_ns.push_back(now_ns - due_ns);
    window_.late_ns += sent_ns - due_ns;
  } else if (window_.num_failed++ == 0) {
    window_.first_error = status;
  }
}

Window Load::take() {
  ThreadTimes times = ThreadTimes::now();
  Window window;
  {
    const std::lock_guard lock(mutex_);
    std::swap(window, window_);
    const std::int64_t now_ns = clock_.now_ns();
    window.duration_ns = now_ns - std::exchange(window_began_ns_, now_ns);
  }
  window.generator = times.since(times_, window.duration_ns);
  times_ = std::move(times);
  return window;
}

void Load::wait_for_answers() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return in_flight_ == 0; });
}

}  // namespace sluice::perf
