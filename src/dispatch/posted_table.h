// Requests that no call waits for, by id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "dispatch/flight_table.h"

namespace sluice::dispatch {

/// A reply stays until somebody takes it, from whichever connection. Safe across threads.
///
///     post --> in flight --(the model answers)--> answered --take--> spent
class PostedTable : public std::enable_shared_from_this<PostedTable> {
 public:
  /// Requests of one table, with those that are answered.
  static constexpr std::size_t kMost = 4096;
  /// What the door makes of a reply, in the request's on_done.
  using Answer = std::shared_ptr<void>;

  PostedTable() = default;
  PostedTable(const PostedTable&) = delete;
  PostedTable& operator=(const PostedTable&) = delete;
  ~PostedTable() = default;

  /// The id is one of HandleKind::kPosted. `answer` may be taken once `request.on_done` was called.
  /// Fails: kOutOfResources for too many; as FlightTable::post.
  Result<std::uint64_t> post(const std::shared_ptr<ModelRef>& model,
                             std::shared_ptr<telemetry::Observation> observation,
                             runtime::Request& request, RequestLimits limits, Answer answer);
  /// Fails: kPending; kInvalidHandle for an id that is unknown or spent.
  Result<Answer> take(std::uint64_t id);
  /// Calls `on_end` once: as soon as the request is not in flight, when another caller comes to
  /// wait, or by `leave` with the same `who`.
  void await(std::uint64_t id, const void* who, std::function<void()> on_end);
  void leave(std::uint64_t id, const void* who);
  /// No effect on an answered request. Fails: kInvalidHandle.
  Status cancel(std::uint64_t id);
  /// Cancels all and forgets the replies; nothing is posted any more.
  void close();

 private:
  struct Posted {
    Answer answer;
    bool is_done = false;
    const void* who = nullptr;
    std::function<void()> on_end = {};  ///< of who waits; empty: nobody
  };

  void finish(std::uint64_t id);

  FlightTable flights_;
  std::mutex mutex_;  ///< never held while an on_end, the flights or a model are called
  bool is_closed_ = false;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Posted> posted_;
};

}  // namespace sluice::dispatch
