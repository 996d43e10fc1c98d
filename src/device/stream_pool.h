// Streams of a group, reused instead of created and destroyed.
#pragma once

#include <memory>
#include <optional>

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
  PooledStream(std::shared_ptr<StreamPoolState> pool, backend::Stream stream)
      : pool_(std::move(pool)), stream_(std::move(stream)) {}

  std::shared_ptr<StreamPoolState> pool_;
  std::optional<backend::Stream> stream_;
};

/// Safe across threads.
class StreamPool {
 public:
  explicit StreamPool(std::shared_ptr<const backend::Group> group);

  /// An idle stream with its old errors cleared; a new stream if none is idle.
  /// Fails: as the plug-in says of a new stream.
  Result<PooledStream> take();

  std::size_t num_unused() const;
  /// Number of streams created so far. None is destroyed before the pool and its users are.
  std::size_t num_streams() const;

 private:
  std::shared_ptr<StreamPoolState> state_;
};

}  // namespace sluice::device
