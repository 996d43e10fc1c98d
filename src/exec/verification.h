// Checksums of what a load uses, compared together.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "package/executable.h"

namespace sluice::exec {

/// Gathers data and reads all of it once, by several threads: a load waits for memory here, and one
/// core does not use all of its speed. Used by one thread.
class Verification {
 public:
  /// `what` names the data in the message.
  void add(Bytes data, std::string what);

  /// Compares what was added, on at most `num_threads` threads (0: as many as the process may use).
  /// Fails: kDataLoss for the first in the order of adding that is damaged; kCancelled once `stop`
  /// is requested.
  Status run(const package::Executable& executable, int num_threads, const std::stop_token& stop);

 private:
  struct Item {
    Bytes data;
    std::string what;
    Status status = ok_status();
  };
  std::vector<Item> items_;
};

}  // namespace sluice::exec
