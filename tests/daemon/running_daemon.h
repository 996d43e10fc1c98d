// A sluiced of this build, as a process of its own, on simulated devices unless a test wants
// others.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rpc/client/client.h"
#include "support/paths.h"

namespace sluice::testing {

/// Four devices of four cores in a chain, 0000:00:10.0 to 0000:00:13.0. Cores may be in several
/// groups of the plug-in, as several models on one core group want it.
inline constexpr const char* kChain = R"({"devices": [{"count": 4, "cores": 4,
    "exclusive_cores": false, "bus_address": "0000:00:1{}.0"}],
    "links": [{"a": 0, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 3}]})";

struct DaemonSetup {
  /// Description of the simulated machine; empty: the devices of this one.
  std::string sim = kChain;
  std::vector<std::string> flags = {};
  /// Name of the socket and the locks; where several daemons share one.
  std::string name = "sluice";
};

/// The destructor ends the process with SIGKILL if it still runs.
class RunningDaemon {
 public:
  /// Waits until it serves.
  /// Fails: kUnavailable with what it printed.
  static Result<std::unique_ptr<RunningDaemon>> start(const TempDir& folder,
                                                      const DaemonSetup& setup = {});
  RunningDaemon(const RunningDaemon&) = delete;
  RunningDaemon& operator=(const RunningDaemon&) = delete;
  ~RunningDaemon();

  const std::string& address() const { return address_; }
  pid_t process() const { return process_; }
  /// A client, with a session of this name unless it is empty.
  std::unique_ptr<rpc::client::Client> client(const std::string& session = "") const;
  /// Sends a signal and waits for the end; the exit code, or minus the signal that ended it.
  int end(int signal_number);
  bool has_ended() const;
  /// All that it printed; complete once it has ended.
  std::string output() const;

 private:
  explicit RunningDaemon(pid_t process) : process_(process) {}
  bool wait_until_it_serves() const;

  pid_t process_;
  std::string address_;
  std::filesystem::path log_;
};

/// Another program, its stdout and stderr together on a pipe. The destructor ends the process with
/// SIGKILL if it still runs.
class Program {
 public:
  explicit Program(const std::vector<std::string>& command);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  /// The next line that it prints, without its end; any partial line if the program ends.
  std::string read_line() const;
  /// As RunningDaemon::end.
  int end(int signal_number);

 private:
  int output_fd_ = -1;
  pid_t process_ = -1;
};

}  // namespace sluice::testing
