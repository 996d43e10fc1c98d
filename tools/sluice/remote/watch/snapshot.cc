#include "sluice/remote/watch/snapshot.h"

#include "base/clock.h"

namespace sluice::tool {

Result<activity::Snapshot> take_snapshot(rpc::client::Client& client) {
  activity::Snapshot snapshot;
  snapshot.server = SLUICE_TRY(client.server());
  snapshot.health = SLUICE_TRY(client.health());
  snapshot.models = SLUICE_TRY(client.list_models());
  snapshot.groups = SLUICE_TRY(client.list_groups());
  snapshot.sessions = SLUICE_TRY(client.list_sessions());
  snapshot.statistics = SLUICE_TRY(client.all_statistics());
  snapshot.time_ns = system_clock().now_ns();
  return snapshot;
}

}  // namespace sluice::tool
