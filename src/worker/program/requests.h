// The requests that come through a worker's ring.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "dispatch/flight_table.h"
#include "runtime/model_host.h"
#include "shm/region.h"
#include "shm/ring_server.h"
#include "worker/protocol/bundle.h"

namespace sluice::worker {

/// Takes entries (setup.h), has the models answer them, completes them.
class Requests {
 public:
  /// Told of a device that failed in a run of a model, and why, before the answer is sent. May end
  /// the process. Any thread.
  using OnDeviceError = std::function<void(std::uint64_t model, const std::string& why)>;

  /// `models` outlives it. Fails: kInvalidArgument where the memory holds no ring.
  static Result<std::unique_ptr<Requests>> create(runtime::ModelHost& models,
                                                  std::shared_ptr<shm::Region> memory,
                                                  OnDeviceError on_device_error);
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() = default;

  /// Serves on this thread until the ring makes no sense any more.
  void run();

 private:
  struct Answer;

  Requests(runtime::ModelHost& models, std::shared_ptr<shm::Region> memory, shm::RingServer ring,
           OnDeviceError on_device_error)
      : host_(models),
        memory_(std::move(memory)),
        ring_(std::move(ring)),
        on_device_error_(std::move(on_device_error)) {}
  void serve(const shm::Submission& entry);
  Status submit(const shm::Submission& entry);
  void cancel(const shm::Submission& entry);
  void send_rest(const shm::Submission& entry);
  Result<std::span<std::byte>> place(const shm::RingTensor& tensor) const;
  Result<std::shared_ptr<dispatch::ModelRef>> find_model(std::uint64_t handle);
  void send(const std::shared_ptr<Answer>& answer);
  void complete(std::uint64_t request, Code code, RuntimeCode runtime_code, std::int64_t num_bytes);

  runtime::ModelHost& host_;
  const std::shared_ptr<shm::Region> memory_;
  shm::RingServer ring_;
  const OnDeviceError on_device_error_;
  std::map<std::uint64_t, std::shared_ptr<dispatch::ModelRef>> models_;  ///< by handle; of `run`
  dispatch::FlightTable flights_;                                        ///< by the daemon's id
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Answer>> too_long_;  ///< wait for room; by the same id
};

}  // namespace sluice::worker
