// Connections that the daemon closed instead of serving them.
#pragma once

#include <cstdint>

namespace sluice::service {

/// Counts for this process. The listeners count before there is a service. Safe from any thread.
void count_refused_connection();
/// Since the start.
std::int64_t num_refused_connections();

}  // namespace sluice::service
