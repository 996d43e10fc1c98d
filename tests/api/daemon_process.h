// A sluiced of this build, as a process of its own, for programs that link libsluice alone: a
// second copy of the protocol's generated code in one process is one too many for protobuf.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/paths.h"

namespace sluice::testing {

/// Serves this machine's processors. The destructor ends the process with SIGKILL if it still runs.
class DaemonProcess {
 public:
  explicit DaemonProcess(const TempDir& folder, const std::vector<std::string>& flags = {});
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;
  ~DaemonProcess();

  const std::string& address() const { return address_; }
  /// HOST:PORT for other daemons, which flag --exchange-listen asks for. Waits until it serves.
  std::string exchange_address() const;
  /// All that it printed.
  std::string output() const;
  /// The sum of the numbers that `sluice COMMAND --json` lists under `key`.
  std::int64_t sum_of(const std::string& command, const std::string& key) const;
  /// Returns when all of its threads have stopped.
  void suspend() const;
  /// Ends it at once, suspended or not.
  void end_abruptly();

 private:
  const std::string address_;
  const std::string log_;
  pid_t process_ = -1;
};

}  // namespace sluice::testing
