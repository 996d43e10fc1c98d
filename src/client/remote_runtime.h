// A daemon as the runtime of sluice/runtime.h.
#pragma once

#include "api/runtime/client_table.h"

namespace sluice::client {

/// Waits for the daemon, and opens a session unless the settings has none.
/// Fails: kUnavailable if no daemon answers; kInvalidArgument for a malformed address;
///        kUnauthenticated.
Result<std::unique_ptr<api::Runtime>> connect(const api::ConnectSettings& settings);

}  // namespace sluice::client
