// A daemon's state, asked for by its client.
#pragma once

#include "activity/activity.h"
#include "base/result.h"
#include "rpc/client/client.h"

namespace sluice::tool {

/// Fails: as the calls.
Result<activity::Snapshot> take_snapshot(rpc::client::Client& client);

}  // namespace sluice::tool
