// The faults of a daemon, and the remedy for each.
#pragma once

#include <string>
#include <vector>

#include "activity/activity.h"

namespace sluice::tool {

struct Trouble {
  std::string what;
  std::string action;
  bool is_bad = false;  ///< something does not work; else it needs attention
};

/// As the daemon's page lists them: the daemon, devices, workers, models, then errors of requests.
/// Names and reasons are as the daemon gives them.
std::vector<Trouble> troubles_of(const activity::Snapshot& now);

}  // namespace sluice::tool
