// A model that this process loads: a load without a protocol.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/result.h"
#include "perf/target.h"

namespace sluice::perf {

/// Loads a package on all cores of the machine's devices that its backends drive.
/// `timeout_ns`: of a request. Fails: as runtime::Engine::load.
Result<std::unique_ptr<Target>> load_in_process(const std::filesystem::path& package,
                                                std::int64_t timeout_ns);

}  // namespace sluice::perf
