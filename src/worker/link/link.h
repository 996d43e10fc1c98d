// One life of a worker process: calls to it, inference through shared memory, and its death.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "worker/link/flights.h"
#include "worker/link/process.h"
#include "worker/protocol/channel.h"

namespace sluice::worker {

struct LinkOptions {
  std::filesystem::path program;
  std::string name;   ///< "worker of group 3"
  std::string start;  ///< what it is told first: a JSON text (setup.h)
  /// A ready worker that answers nothing for so long is killed: it is stopped, or hangs. A worker
  /// is killed too if a run goes on for this time after its stop: a plug-in ignores the question.
  std::int64_t silence_limit_ns = 10'000'000'000;
};

/// Safe from any thread, except `start` and `close`, which the supervisor calls.
///
///     starting --> ready --death--> dead      close leads out of every state
class WorkerLink : public std::enable_shared_from_this<WorkerLink> {
 public:
  /// Blocks until the worker is ready. It lives as long as the calling thread at most. `on_death`
  /// is told the cause once, before all requests are answered with it, unless `close` came first.
  /// Fails: kUnavailable with what happened to it; what it reported.
  static Result<std::shared_ptr<WorkerLink>> start(const LinkOptions& options,
                                                   std::function<void(const Status&)> on_death);
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;
  ~WorkerLink();

  pid_t process() const { return process_->id(); }
  bool is_dead() const {
    const std::lock_guard lock(mutex_);
    return is_dead_;
  }
  /// For how long a ready worker has not answered.
  std::int64_t silent_ns() const {
    const std::lock_guard lock(mutex_);
    return silent_ns_;
  }
  /// As if it died of itself.
  void kill() { process_->kill(); }

  /// Asks and waits for the answer. A worker that does not answer within `timeout_ns`, or soon
  /// after `stop` was requested, is killed. Fails: what it reported; kUnavailable when it is dead.
  Result<nlohmann::json> call(nlohmann::json message, int fd, std::int64_t timeout_ns,
                              const std::stop_token& stop = {});
  /// As Flights.
  Result<std::uint64_t> infer(Inference& inference) { return flights_.infer(inference); }
  void cancel(std::uint64_t id) { flights_.cancel(id); }
  /// Kills the worker and answers what is in flight with kCancelled. Not from on_answer.
  void close();

 private:
  struct Call {
    std::optional<Result<nlohmann::json>> answer;
  };

  WorkerLink(const LinkOptions& options, std::function<void(const Status&)> on_death,
             std::unique_ptr<Process> process, shm::Fd socket, const std::shared_ptr<Arena>& arena);
  void read_messages();
  void take_message(const nlohmann::json& message);
  void take_completions();
  void watch(std::int64_t now_ns);
  void take_overdue(const nlohmann::json& pong);
  void die();

  const LinkOptions options_;
  const std::function<void(const Status&)> on_death_;
  const std::unique_ptr<Process> process_;
  Channel channel_;
  std::mutex send_mutex_;
  Flights flights_;  ///< taken on the receiver's thread

  mutable std::mutex mutex_;
  std::condition_variable_any answered_;
  bool is_dead_ = false;
  bool is_closing_ = false;
  bool is_ready_ = false;
  Status cause_;
  std::optional<std::uint64_t> ping_;  ///< the call that asks whether the worker lives
  std::int64_t watched_ns_ = 0;
  std::int64_t silent_ns_ = 0;
  std::int64_t overdue_ns_ = 0;  ///< of the last answer to a ping (Engine::overdue_ns)
  bool ignores_stop_ = false;    ///< why it is killed
  std::string last_words_;       ///< why it ends itself
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Call> calls_;
  std::atomic<bool> is_receiving_ = true;
  std::thread receiver_;
  std::thread reader_;
};

}  // namespace sluice::worker
