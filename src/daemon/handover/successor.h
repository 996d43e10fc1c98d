// A new daemon in the place of this one: its process, started with the sockets and locks of ours.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process/inherited_fds.h"
#include "base/result.h"

namespace sluice::daemon {

/// It reports through a socket, whose end says that it has ended, and serves on only if the report
/// is confirmed: whatever comes at the same time, one of the two stays. It is no child of this
/// process: a service manager that is told of it waits for its own children only.
class Successor {
 public:
  /// Starts `program` with the words as its argv and the descriptors as take_inheritance reads
  /// them.
  /// Fails: kNotFound, kUnavailable: it does not start.
  static Result<std::unique_ptr<Successor>> start(const std::filesystem::path& program,
                                                  std::vector<std::string> words,
                                                  std::vector<PassedFd> fds);

  /// Readable once it serves or has ended.
  int report_fd() const { return report_.get(); }
  /// The process that serves, and now is the service; 0: it has ended. Requires: report_fd() is
  /// readable.
  pid_t confirm() const;

 private:
  explicit Successor(FileDescriptor report) : report_(std::move(report)) {}

  FileDescriptor report_;
};

/// For a successor, before it has threads: becomes a process that its predecessor is not the parent
/// of, and which has another number. The kernel ends it if it does not report within 10 minutes:
/// until then the daemon before it keeps no deployments. Fails: kUnavailable.
Status leave_predecessor();

/// For a successor that serves; waits for the answer. Fails: kUnavailable if the daemon before it
/// has ended or was told to end, and so wants none.
Status report_to_predecessor(int report_fd);

}  // namespace sluice::daemon
