// The requests in flight of one door: the unary calls of a server, a client's stream, a client's
// ring, or the ring of a worker process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "dispatch/flight.h"

namespace sluice::dispatch {

/// Owns the id, the cancellation and the single answer of every request, and decides which thread
/// computes it. Safe across threads.
///
///     enter --> post ----(the model answers, any thread)--> on_done
///          `--> compute -(this thread runs the model)-----> Reply
///
/// A request that comes alone, of a model whose requests are short, costs less than waking a thread
/// for it, so the thread that brings it computes it. A long request, or one of several, goes to the
/// thread of its core group.
class FlightTable {
 public:
  /// Requests of models that typically take less than this are computed on the calling thread.
  static constexpr std::int64_t kShortNs = 200'000;

  /// Up to `max_compute_ns`, where it exceeds kShortNs, a request is computed on the calling thread
  /// unless requests came close together lately (`note_backlog`).
  explicit FlightTable(std::int64_t max_compute_ns = kShortNs) : max_compute_ns_(max_compute_ns) {}
  FlightTable(const FlightTable&) = delete;
  FlightTable& operator=(const FlightTable&) = delete;
  ~FlightTable() = default;

  /// A request begins, under an id of the table's. `may_compute`: the thread may be used.
  /// `observation` learns what becomes of it, and lives as long as the flight.
  std::shared_ptr<Flight> enter(std::shared_ptr<ModelRef> model, bool may_compute,
                                std::shared_ptr<telemetry::Observation> observation = nullptr);
  /// The same under the client's id. Null if a request with this id is in flight.
  std::shared_ptr<Flight> enter(std::uint64_t id, std::shared_ptr<ModelRef> model, bool may_compute,
                                std::shared_ptr<telemetry::Observation> observation = nullptr);

  /// Removes an entered request instead of submitting it.
  void drop(Flight& flight) { leave(flight); }
  /// Submits a request whose `on_done` is called once, on any thread, when the request is in the
  /// table no longer; the table may be destroyed from then on.
  /// Fails: as RequestQuota::enter and RequestSink::submit, or for want of memory; then the request
  ///        is in the table no longer and `on_done` is never called.
  Status post(const std::shared_ptr<Flight>& flight, runtime::Request& request,
              RequestLimits limits);
  /// Submits a request without an `on_done` and works at its model until it is answered.
  /// Requires: is_for_this_thread. Fails: as `post`.
  Result<runtime::Reply> compute(const std::shared_ptr<Flight>& flight, runtime::Request& request,
                                 RequestLimits limits);

  /// The door calls this when a request arrives during `compute`.
  void note_backlog();
  bool contains(std::uint64_t id) const;
  /// Requests in flight.
  std::size_t size() const;
  /// Nothing happens if no request has this id.
  void cancel(std::uint64_t id);
  void cancel_all();

 private:
  bool is_short(const ModelRef& model);
  Status submit(const std::shared_ptr<Flight>& flight, runtime::Request& request,
                RequestLimits limits);
  static void observe(Flight& flight, runtime::Request& request);
  void leave(Flight& flight);
  void end(Flight& flight, const runtime::Reply& reply);

  const std::int64_t max_compute_ns_;
  std::atomic<std::uint64_t> next_id_ = 1;
  /// Never held while a model, a quota or an on_done is called.
  mutable std::mutex mutex_;
  int num_backlogged_ = 0;  ///< so many of the next longer requests are computed elsewhere
  std::map<std::uint64_t, std::shared_ptr<Flight>> flights_;
};

}  // namespace sluice::dispatch
