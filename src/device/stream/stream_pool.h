// Streams of a group, reused instead of created and destroyed.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/group.h"

namespace sluice::device {

struct StreamPoolState;

/// A stream borrowed from a pool; the destructor returns it. Move-only; keeps the pool's streams
/// alive. Used by one thread at a time.
class PooledStream {
 public:
  PooledStream(PooledStream&& other) noexcept = default;
  PooledStream& operator=(PooledStream&& other) noexcept;
  PooledStream(const PooledStream&) = delete;
  PooledStream& operator=(const PooledStream&) = delete;
  ~PooledStream();

  backend::Stream& operator*() { return *stream_; }
  backend::Stream* operator->() { return &*stream_; }

 private:
  friend class StreamPool;
  PooledStream(std::shared_ptr<StreamPoolState> pool, std::string owner, backend::Stream stream)
      : pool_(std::move(pool)), owner_(std::move(owner)), stream_(std::move(stream)) {}

  std::shared_ptr<StreamPoolState> pool_;
  std::string owner_;
  std::optional<backend::Stream> stream_;
};

/// The streams of all pools of a device.
struct StreamUsage {
  std::map<std::string, std::int64_t, std::less<>> in_use;  ///< by owner
  std::int64_t unused = 0;
  std::int64_t draining = 0;  ///< returned, with work that has not ended
  std::int64_t made = 0;      ///< since the start
  std::int64_t drained = 0;   ///< how often a returned stream's work had ended

  std::int64_t num_in_use() const;
};

/// Where the pools of a device say what they have. Safe across threads.
class StreamLedger {
 public:
  StreamUsage usage() const;

 private:
  friend struct StreamPoolState;
  /// What one pool has without those in use.
  struct Entry {
    std::int64_t unused = 0;
    std::int64_t draining = 0;
    std::int64_t made = 0;
    std::int64_t drained = 0;
  };
  void replace(const Entry& before, const Entry& now);
  void change_use(const std::string& owner, std::int64_t by);

  mutable std::mutex mutex_;  ///< taken last, under that of a pool
  StreamUsage usage_;
};

struct StreamPoolOptions {
  std::size_t made_ahead = 0;  ///< unused streams that `create` and `refill` leave, at least
  /// Unused streams that the pool keeps, at most; it destroys others when they are idle.
  std::size_t max_unused = std::numeric_limits<std::size_t>::max();
};

struct StreamUse {
  std::string owner;
  std::size_t num_streams = 0;
};

/// The streams of one partition of a device: of one group.
///
///     create, refill --> idle --take--> in use --~PooledStream--> draining --work done--> idle
///                          +--more than max_unused--> destroyed
///
/// `take` hands out idle streams alone, so nobody waits for an earlier user's work, and old errors
/// are cleared. Safe across threads.
class StreamPool {
 public:
  /// `ledger`: of the device; null: none.
  /// Fails: as the plug-in says of a new stream; kInvalidArgument if `made_ahead` is larger than
  /// `max_unused`.
  static Result<StreamPool> create(std::shared_ptr<const backend::Group> group,
                                   const StreamPoolOptions& options = {},
                                   std::shared_ptr<StreamLedger> ledger = nullptr);

  /// An idle stream; a new one if none is idle. Fails: as the plug-in says of a new stream.
  Result<PooledStream> take(std::string_view owner);
  /// Creates streams until `made_ahead` are unused. For a thread that is not in a hurry.
  Status refill();

  std::size_t num_unused() const;
  std::size_t num_streams() const;  ///< unused and in use
  std::size_t num_created() const;  ///< since the pool was created
  /// Who has streams now, by name; after an owner's end, its leaks.
  std::vector<StreamUse> uses() const;

 private:
  explicit StreamPool(std::shared_ptr<StreamPoolState> state) : state_(std::move(state)) {}

  std::shared_ptr<StreamPoolState> state_;
};

}  // namespace sluice::device
