// A program that runs, as a model that takes requests.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/request/locked_sink.h"
#include "runtime/statistics/model_statistics.h"
#include "sandbox/programs/program_process.h"
#include "terms/group.h"

namespace sluice::sandbox {

/// Every program has the input "request" and the output "reply"; both are bytes, u8[N].
const terms::Signature& program_signature();

struct ProgramModelOptions {
  std::string name = {};
  std::vector<std::string> words = {};             ///< as ProgramProcess::start
  std::shared_ptr<const void> lives_on = nullptr;  ///< what the processes need
  bool stays = false;                              ///< as ProgramProcess
  int depth = 1;                                   ///< requests at a time, each in a process
  std::int64_t max_run_ns = 0;                     ///< of one request; 0: none
  terms::CoreGroupId group = {};                   ///< for lists and replies
};

/// Threads, `depth` of them, take the requests; each waits for the process of its request. While it
/// is idle it holds a process that waits for a request, if one was started before.
///
/// Safe from any thread.
class ProgramModel final : public runtime::LockedSink {
 public:
  /// Blocks until the first process runs. Fails: as ProgramProcess::start; kResourceExhausted.
  static Result<std::shared_ptr<ProgramModel>> start(ProgramModelOptions options, Clock& clock);
  /// Cancels what runs, and ends all processes. Blocks.
  ~ProgramModel() override { close(); }

  const std::string& name() const { return options_.name; }
  terms::CoreGroupId group() const { return options_.group; }
  runtime::ModelStatisticsSnapshot statistics() const { return statistics_.snapshot(); }

  const terms::Signature& signature() const override { return program_signature(); }
  int depth() const override { return options_.depth; }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;

  /// Refuses and cancels requests, and ends all processes. Blocks. May be called again.
  void close();

 private:
  struct Task {
    std::uint64_t id = 0;
    runtime::Request request;
    std::int64_t submitted_ns = 0;
    std::stop_source stop;
  };
  using Process = std::unique_ptr<ProgramProcess>;

  ProgramModel(ProgramModelOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock) {}
  Status open();
  void serve();
  std::shared_ptr<Task> next_task();
  Process take_ready();
  void make_ready();
  void run(Task& task);
  runtime::Reply compute(Task& task, std::int64_t start_ns);
  Result<std::vector<std::byte>> ask(Task& task);
  void answer(Task& task, runtime::Reply reply, std::int64_t start_ns);

  const ProgramModelOptions options_;
  Clock& clock_;
  bool is_closed_ = false;  ///< `mutex_` guards the members up to `statistics_`
  std::uint64_t last_id_ = 0;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::vector<std::shared_ptr<Task>> tasks_;  ///< waiting and running
  std::vector<Process> ready_;                ///< each waits for a request
  runtime::ModelStatistics statistics_;
  std::mutex close_mutex_;
  std::vector<std::thread> threads_;  ///< guarded by close_mutex_, after `open`
};

}  // namespace sluice::sandbox
