// What threads ask of calls, and what happens to calls, for one thread of connections.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/server/reactor/out_message.h"

namespace sluice::rpc::server {

class Call;

/// What a handler or a reactor wants of its call.
struct Ask {
  enum class Kind : std::uint8_t { kRead, kWrite, kTimer, kFinish, kCancel };

  std::shared_ptr<Call> call;
  Kind kind = Kind::kCancel;
  google::protobuf::Message* to = nullptr;  ///< of kRead
  OutMessage message = {};                  ///< of kWrite, and of kFinish the response
  grpc::Status status = {};                 ///< of kFinish
  std::int64_t end_ns = 0;                  ///< of kTimer
};

/// What happened to a call.
struct Event {
  enum class Kind : std::uint8_t { kStart, kReadDone, kWriteDone, kTime, kCancel, kDone };

  std::shared_ptr<Call> call;
  Kind kind = Kind::kStart;
  bool is_ok = true;
};

/// Any thread asks; the loop's thread carries that out and lets the calls react. `wake` is called
/// from other threads, once until the next `run`, and must not ask.
class CallQueue {
 public:
  /// A call's own deadline, or a timer of its reactor.
  struct Due {
    std::weak_ptr<Call> call;
    bool is_timer = false;
  };
  using Deadline = std::multimap<std::int64_t, Due>::iterator;

  explicit CallQueue(std::function<void()> wake) : wake_(std::move(wake)) {}
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // From any thread.

  void ask(Ask ask);
  /// Calls that a handler has begun and that are not done.
  std::size_t num_calls() const { return num_calls_.load(); }
  /// Waits until there are none, at the latest until `end_ns` on system_clock().
  void wait_for_calls(std::int64_t end_ns);

  // From the loop's thread.

  /// From now on, this thread is the loop's.
  void begin() { thread_ = std::this_thread::get_id(); }
  /// Carries out what was asked and lets calls react, until there is neither.
  void run();
  void add(Event event) { events_.push_back(std::move(event)); }
  /// The connection has something to send.
  void touch(std::uint64_t connection) { touched_.push_back(connection); }
  std::vector<std::uint64_t> take_touched() { return std::exchange(touched_, {}); }
  Deadline add(std::int64_t end_ns, Due due) { return deadlines_.emplace(end_ns, std::move(due)); }
  void remove(Deadline deadline) { deadlines_.erase(deadline); }
  /// Tells the calls whose time has passed.
  void expire(std::int64_t now_ns);
  /// kNoDeadline: none.
  std::int64_t next_deadline_ns() const;
  /// A handler has the call.
  void note_begin() { num_calls_.fetch_add(1); }
  void note_end();

 private:
  const std::function<void()> wake_;
  std::atomic<std::thread::id> thread_;
  std::mutex mutex_;  ///< a leaf
  std::condition_variable no_calls_;
  std::vector<Ask> asks_;
  std::atomic<std::size_t> num_calls_ = 0;
  std::vector<Event> events_;  ///< this and below: the loop's own
  std::vector<Ask> taken_asks_;
  std::vector<Event> taken_events_;
  std::vector<std::uint64_t> touched_;
  std::multimap<std::int64_t, Due> deadlines_;
};

}  // namespace sluice::rpc::server
