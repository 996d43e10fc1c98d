// What a daemon is started with: sockets of a service manager, or those of the daemon before it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/process/inherited_fds.h"
#include "base/result.h"

namespace sluice::daemon {

/// A socket that listens already.
struct InheritedAddress {
  std::string name;  ///< whoever passed it on gave it
  std::string address;
  bool is_managed = false;  ///< by a service manager: served even if no setting names it
};

/// What main needs to know of all descriptors.
struct Inheritance {
  InheritedFds fds;
  std::vector<InheritedAddress> addresses;
  int report_fd = -1;  ///< for report_to_predecessor; -1: this daemon is nobody's successor
};

/// The first descriptor that is passed on, by sd_listen_fds(3).
inline constexpr int kFirstPassedFd = 3;

/// Name of the descriptor where a successor reports.
inline constexpr std::string_view kReportName = "report";

/// Names the process that passes on its descriptors, which LISTEN_PID cannot before it has a child.
inline constexpr const char* kPredecessorVariable = "SLUICED_PREDECESSOR";

/// Descriptors that were passed to this process as sd_listen_fds(3) has it; none without a manager.
/// Removes the variables from
/// the environment, so that child processes claim nothing.
/// Fails: kInvalidArgument as InheritedFds::add, or for too many.
Result<Inheritance> take_inheritance();

}  // namespace sluice::daemon
