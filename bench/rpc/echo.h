// A bare gRPC echo, which the daemon is compared with.
#pragma once

#include <string>

#include "programs.h"

namespace sluice::bench {

/// Answers `Infer` at unix:`path` with the tensors that came: a callback server as sluiced's, with
/// nothing behind it. Requires: this process has not used gRPC yet.
Process start_echo(const std::string& path);

}  // namespace sluice::bench
