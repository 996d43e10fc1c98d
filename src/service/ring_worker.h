// A thread that serves a client's ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/request.h"
#include "service/ring_request.h"
#include "service/service.h"
#include "shm/ring_server.h"

namespace sluice::service {

/// Takes entries, submits them as `Infer` does, completes them. A thread per ring: a client that
/// keeps its ring busy keeps nobody else's waiting. The thread looks for work for a short while,
/// then sleeps. A request that comes alone and is known to be short is computed on it, too: nobody
/// need be woken for it.
class RingWorker {
 public:
  /// `service` outlives the thread: a session's end, or the service's, stops it.
  static std::shared_ptr<RingWorker> start(Service& service, const Caller& caller,
                                           std::shared_ptr<shm::Region> region,
                                           shm::RingServer ring);
  RingWorker(const RingWorker&) = delete;
  RingWorker& operator=(const RingWorker&) = delete;
  ~RingWorker();

  /// Cancels what is in flight, tells the client, and returns when the thread has ended. May be
  /// called again, and from several threads. Not from the ring's own thread.
  void stop();

 private:
  struct Flight;
  /// What outlives the thread while a device is still busy for it.
  struct Shared {
    Shared(std::shared_ptr<shm::Region> memory, shm::RingServer server)
        : region(std::move(memory)), ring(std::move(server)) {}
    const std::shared_ptr<shm::Region> region;
    shm::RingServer ring;
    std::mutex mutex;
    std::uint64_t next_flight = 1;
    std::map<std::uint64_t, std::shared_ptr<Flight>> flights;
    std::map<std::uint64_t, std::int64_t> typical_ns;  ///< by model: how long its last request took
  };

  RingWorker(Service& service, Caller caller, std::shared_ptr<Shared> shared)
      : service_(service), caller_(std::move(caller)), shared_(std::move(shared)) {}
  void loop();
  void serve(const shm::Submission& entry);
  Status submit(const shm::Submission& entry);
  bool enter(const std::shared_ptr<Flight>& flight);
  void cancel_all();
  static void answer(Shared& shared, Flight& flight, const runtime::Reply& reply);

  Service& service_;
  const Caller caller_;
  const std::shared_ptr<Shared> shared_;
  int elsewhere_next_ = 0;  ///< how many requests are computed elsewhere; by its own thread
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_ended_ = false;
  std::mutex stop_mutex_;
  std::thread thread_;
};

}  // namespace sluice::service
