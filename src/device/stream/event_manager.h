// Orders streams by events.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/extensions/events.h"
#include "device/stream/hazard_table.h"
#include "device/stream/stream_pool.h"

namespace sluice::device {

/// Makes streams of one backend wait for each other where their work conflicts: records an event on
/// the stream that must be waited for, once for all that wait for the same work, and reuses events
/// in the next run. Used by one thread at a time.
class EventManager {
 public:
  /// Requires: Event::is_supported(*backend).
  EventManager(std::shared_ptr<const backend::Backend> backend, std::size_t num_streams)
      : backend_(std::move(backend)), hazards_(num_streams), tail_(num_streams) {}

  /// Call before work with these accesses is submitted to `streams[index]`.
  /// Fails: as the plug-in says.
  Status order(std::span<PooledStream> streams, std::size_t index,
               std::span<const Access> accesses);
  /// All work of all streams has ended: its events are unused again.
  void end_run();

  std::size_t num_created() const { return events_.size(); }
  std::int64_t num_waits() const { return num_waits_; }

 private:
  Result<std::size_t> record_tail(backend::Stream& stream);

  std::shared_ptr<const backend::Backend> backend_;
  HazardTable hazards_;
  std::vector<backend::Event> events_;
  std::size_t num_used_ = 0;  ///< of `events_`, in this run
  /// By stream: the event behind its last work, if it has been recorded.
  std::vector<std::optional<std::size_t>> tail_;
  std::int64_t num_waits_ = 0;
};

}  // namespace sluice::device
