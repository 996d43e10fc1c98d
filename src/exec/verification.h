// Checksums of what a load uses, compared together.
#pragma once

#include <atomic>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "package/executable.h"

namespace sluice::exec {

/// Gathers data and reads all of it once, by several threads: a load waits for memory here, and one
/// core does not use all of its speed. Used by one thread.
class Verification {
 public:
  Verification() = default;
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;
  ~Verification() = default;

  /// Before `start`. `what` names the data in the message.
  void add(Bytes data, std::string what);

  /// Compares what is small, for shapes are worked out from it; large data may be compared until
  /// `finish`, beside whatever the caller does meanwhile. At most `num_threads` threads work, the
  /// caller included (0: as many as the process may use). `executable` outlives this.
  /// Fails: kDataLoss for the first that is small and damaged, in the order of adding.
  Status start(const package::Executable& executable, int num_threads, std::stop_token stop);
  /// Compares the rest. Fails: as `start`, of all data; kCancelled once `stop` is requested.
  Status finish();

 private:
  struct Item {
    Bytes data;
    std::string what;
    Status status = ok_status();
  };

  void work();

  const package::Executable* executable_ = nullptr;
  std::stop_token stop_;
  std::vector<Item> items_;
  std::vector<Item*> large_;  ///< the largest first, so that threads end together
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> helpers_;  ///< last: they use all of the above
};

}  // namespace sluice::exec
