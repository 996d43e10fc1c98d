// Streams of a group, reused instead of created and destroyed.
#pragma once

#include <limits>
#include <memory>
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
  /// Fails: as the plug-in says of a new stream; kInvalidArgument if `made_ahead` is larger than
  /// `max_unused`.
  static Result<StreamPool> create(std::shared_ptr<const backend::Group> group,
                                   const StreamPoolOptions& options = {});

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
