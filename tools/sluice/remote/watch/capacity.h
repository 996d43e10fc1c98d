// What of a machine is free, and what the models of its daemon need, as one document.
#pragma once

#include <string>

#include "activity/activity.h"

namespace sluice::tool {

/// `now`: of a daemon; of a machine without one the devices alone count, and all of them are free.
/// docs/scale.md has the keys. One JSON object, with its end of line; keys are only added.
std::string capacity_json(const activity::Snapshot& now, bool is_from_daemon);

/// The same for people.
std::string capacity_text(const activity::Snapshot& now, bool is_from_daemon);

}  // namespace sluice::tool
