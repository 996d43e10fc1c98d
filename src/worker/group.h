// A core group whose models run in a worker process, and the thread that watches over it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine.h"
#include "worker/remote_model.h"

namespace sluice::worker {

struct GroupOptions {
  LinkOptions link;
  std::int64_t hang_limit_ns = 0;
  /// The group fails at the next death after so many within `restart_window_ns`.
  std::int64_t max_restarts = 5;
  std::int64_t restart_window_ns = 60'000'000'000;
  /// A second worker waits without models, and takes over when the first one dies.
  bool has_spare = false;
  /// Called with a text for the log at each death and restart, on the supervisor's thread.
  std::function<void(const std::string&)> on_event;
};

/// Safe from any thread. Functions that change models wait for each other and for a restart.
///
///     starting --> ready <--loaded again-- restarting --too many deaths--> failed
///        |           |                        ^    ^                         |
///        |           +---------death----------+    +----------reset----------+
///        +--> failed; `create` fails
///
/// A death answers all requests at once. With a spare the next worker is there already. Models keep
/// handle and phase; the next worker loads and starts them again from their packages. If the group
/// fails, its models fail; `reset` stops them. `close` leads out of every state.
class WorkerGroup {
 public:
  /// Blocks until the worker is ready. Fails: what it reported.
  static Result<std::shared_ptr<WorkerGroup>> create(GroupOptions options);
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;
  ~WorkerGroup();

  /// Ends the worker; requests in flight are answered. Blocks. May be called again.
  void close();

  const std::shared_ptr<LinkSlot>& slot() const { return slot_; }
  terms::WorkerInfo info() const;
  /// Name of the model that is started; empty if none is.
  std::string active_model() const;
  std::int64_t num_switches() const;

  /// Makes the worker load `package`, with the code of devices in it if `keeps_code`; `make`
  /// creates the model from the worker's reply. Blocks. Fails: the worker's error; kUnavailable
  /// without a worker.
  Result<std::shared_ptr<RemoteModel>> load(
      const terms::LoadOptions& load, int package, bool keeps_code, const std::stop_token& stop,
      const std::function<std::shared_ptr<RemoteModel>(const nlohmann::json&)>& make);
  Status start(RemoteModel& model);
  Status stop(RemoteModel& model, std::int64_t drain_ns);
  Status reset(RemoteModel& model);
  /// Starts a worker for a group that failed; its models are stopped. Blocks until it is ready.
  /// Fails: why there is none.
  Status revive();
  /// Records in the worker that lives now. `model`: that one alone; null: all of the group.
  struct Recording {
    std::weak_ptr<WorkerLink> link;
    std::uint64_t profile = 0;  ///< its number there
    std::int64_t max_spans = 0;
  };
  /// Fails: as Engine::start_profile; kUnavailable without a worker.
  Result<Recording> start_profile(const terms::ProfileSettings& settings, const RemoteModel* model);
  /// Blocks. Times are on the worker's clock, which is the daemon's unless devices are simulated.
  /// Fails: kUnavailable if the worker died since; its spans are lost.
  static Result<terms::Profile> stop_profile(const Recording& recording);
  static void drop_profile(const Recording& recording);

  /// Always succeeds; the model is retired.
  void unload(const std::shared_ptr<RemoteModel>& model, std::int64_t drain_ns);

 private:
  enum class State { kStarting, kReady, kRestarting, kFailed, kClosed };

  /// A worker, and whether its death is the group's. The mutex guards the flags.
  struct Life {
    struct Flags {
      bool is_current = false;
      bool is_dead = false;
    };
    std::shared_ptr<WorkerLink> link;
    std::shared_ptr<Flags> flags;  ///< shared with the link's callback
  };

  explicit WorkerGroup(GroupOptions options) : options_(std::move(options)) {}
  Result<Life> start_life();
  Result<std::shared_ptr<WorkerLink>> next_link();
  void make_spare();
  void supervise();
  bool live_once();
  bool start_failed(const Status& why);
  void restore(WorkerLink& link);
  Status restore(WorkerLink& link, RemoteModel& model);
  bool wait_before_restart();
  void set_state(State state, const Status& why);
  void fail_models(const std::string& why);
  void tell(const std::string& event) const;
  Result<nlohmann::json> ask(nlohmann::json message, int fd, std::int64_t timeout_ns,
                             const std::stop_token& stop = {});
  Status ask_about(const RemoteModel& model, const char* op, std::int64_t drain_ns);
  static nlohmann::json load_message(const terms::LoadOptions& load, bool keeps_code);

  const GroupOptions options_;
  const std::shared_ptr<LinkSlot> slot_ = std::make_shared<LinkSlot>();

  std::mutex change_mutex_;  ///< held while models change, or are restored
  std::vector<std::shared_ptr<RemoteModel>> models_;
  std::atomic<std::int64_t> num_switches_ = 0;

  mutable std::mutex mutex_;  ///< guards what follows; taken after change_mutex_
  std::condition_variable changed_;
  State state_ = State::kStarting;
  Status reason_;  ///< of the last death, or of the failure
  bool is_closing_ = false;
  bool is_dead_ = false;
  bool wants_reset_ = false;
  std::shared_ptr<WorkerLink> link_;  ///< the one that lives now
  std::int64_t num_restarts_ = 0;
  std::optional<Life> spare_;        ///< the supervisor's
  bool was_ready_ = false;           ///< the worker that lives now, or lived last
  std::weak_ptr<RemoteModel> last_;  ///< that was started
  std::deque<std::int64_t> deaths_ns_;
  std::thread supervisor_;
};

}  // namespace sluice::worker
