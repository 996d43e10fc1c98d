// A thread that serves a client's ring.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "dispatch/flight_table.h"
#include "service/ring_request.h"
#include "service/service.h"
#include "shm/ring_server.h"
#include "telemetry/observation.h"

namespace sluice::service {

/// Takes entries, submits them as `Infer` does, completes them. A thread per ring: a client that
/// keeps its ring busy delays no other client. The thread looks for work for a short while, then
/// sleeps.
class RingThread {
 public:
  /// `service` outlives the thread: a session's end, or the service's, stops it.
  /// Fails: kResourceExhausted.
  static Result<std::shared_ptr<RingThread>> start(Service& service, const Caller& caller,
                                                   std::shared_ptr<shm::Region> region,
                                                   shm::RingServer ring);
  RingThread(const RingThread&) = delete;
  RingThread& operator=(const RingThread&) = delete;
  ~RingThread();

  /// Cancels requests in flight, informs the client, and returns when the thread has ended. May be
  /// called again, and from several threads. Not from the ring's own thread.
  void stop();

 private:
  struct Ring;
  struct Entry;

  RingThread(Service& service, Caller caller, std::shared_ptr<Ring> ring);
  void loop();
  void rest();
  void serve(const shm::Submission& submission);
  Status submit(const shm::Submission& submission,
                const std::shared_ptr<telemetry::Observation>& observation);
  void cancel(const shm::Submission& submission);

  Service& service_;
  const Caller caller_;
  const std::shared_ptr<Ring> ring_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_ended_ = false;
  std::mutex stop_mutex_;  ///< held through `stop`
  std::thread thread_;
};

}  // namespace sluice::service
