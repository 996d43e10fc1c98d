// A client that keeps a model busy while a test does something else to the daemon.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "rpc/client/client.h"

namespace sluice::testing {

/// Sends requests in sequence on a thread of its own until `stop` or a failure. A reply that
/// differs from the model of `write_model` counts as a failure.
class SteadyRequests {
 public:
  /// `model`: of a package of `write_model`, started, and usable by `client`.
  SteadyRequests(std::unique_ptr<rpc::client::Client> client, std::uint64_t model);
  SteadyRequests(const SteadyRequests&) = delete;
  SteadyRequests& operator=(const SteadyRequests&) = delete;
  ~SteadyRequests() { end(); }

  std::int64_t num_answered() const { return num_answered_; }
  /// Blocks until `count` more requests were answered, or one failed.
  void wait_for_more(std::int64_t count) const;
  /// The first failure; ok if there was none.
  Status stop();

 private:
  void end();
  void run(std::uint64_t model);
  Status run_until_over(std::uint64_t model);

  std::unique_ptr<rpc::client::Client> client_;
  std::atomic<std::int64_t> num_answered_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> has_failed_ = false;
  Status first_error_ = ok_status();
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace sluice::testing
