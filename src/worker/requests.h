// The requests that come through a worker's ring.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine.h"
#include "shm/region.h"
#include "shm/ring_server.h"
#include "worker/bundle.h"

namespace sluice::worker {

/// Takes entries (server.h), has the engine answer them, completes them. The requests of a model
/// that is short and comes alone are computed on the thread that takes them.
class Requests {
 public:
  /// `engine` outlives it. Fails: kInvalidArgument where the memory holds no ring.
  static Result<std::unique_ptr<Requests>> create(runtime::Engine& engine,
                                                  std::shared_ptr<shm::Region> memory);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() = default;

  /// Serves on this thread until the ring makes no sense any more.
  void run();

 private:
  struct Flight;

  Requests(runtime::Engine& engine, std::shared_ptr<shm::Region> memory, shm::RingServer ring)
      : engine_(engine), memory_(std::move(memory)), ring_(std::move(ring)) {}
  void serve(const shm::Submission& entry);
  Status submit(const shm::Submission& entry);
  void cancel(const shm::Submission& entry);
  void send_rest(const shm::Submission& entry);
  Result<std::span<std::byte>> place(const shm::RingTensor& tensor) const;
  bool enter(const std::shared_ptr<Flight>& flight);
  std::shared_ptr<Flight> find(std::uint64_t request) const;
  void answer(const std::shared_ptr<Flight>& flight, runtime::Reply reply);
  void write(const std::shared_ptr<Flight>& flight);
  void complete(std::uint64_t request, Code code, runtime::RuntimeCode runtime_code,
                std::int64_t num_bytes);

  runtime::Engine& engine_;
  const std::shared_ptr<shm::Region> memory_;
  shm::RingServer ring_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Flight>> flights_;  ///< by the daemon's id
  std::map<std::uint64_t, std::int64_t> typical_ns_;  ///< by model: how long its last request took
};

}  // namespace sluice::worker
